import { type ChildProcess, spawn } from 'node:child_process';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createGzip } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { startTestChain } from '../support/chain.ts';

// A market tries to exhaust its auditor's memory or to keep the auditor busy forever. Each audit is a process with little memory, and must
// end on its own with exit code 2 and the limit it reached.

/** Old space of each process in megabytes. Node.js itself, the new space and buffers come on top. */
const HEAP_MB = 96;
const MAX_MB = 300;
const treasury = WORLD_ACCOUNTS.treasury.address;
type Handler = (request: IncomingMessage, response: ServerResponse, path: string) => void;

let chain: LocalChain;
let server: Server;
let url: string;
/** Answers by path prefix that replace those of an empty market. */
let lies: Readonly<Record<string, Handler>> = {};
const running = new Set<ChildProcess>();

beforeAll(async () => {
  chain = await startTestChain();
  server = createServer((request, response) => {
    const path = request.url ?? '/';
    const [, lie] = Object.entries(lies).find(([start]) => path.startsWith(start)) ?? [];
    if (lie !== undefined) return lie(request, response, path);
    const [, body] = Object.entries(EMPTY).find(([start]) => path.startsWith(start)) ?? [];
    return body === undefined ? void response.writeHead(404).end() : send(response, sized(body, path));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  lies = {};
  for (const child of running) child.kill('SIGKILL');
});
afterAll(async () => {
  server?.closeAllConnections();
  server?.close();
  await chain?.stop();
});

const NONE = { total: 0, returned: 0, page_size: 0, has_more: false };
const EMPTY: Readonly<Record<string, Record<string, unknown>>> = {
  '/api/official': { network: 'base', usdc_contract: USDC_ADDRESS, treasury, listing_fee_usdc: 1 },
  '/api/events': { events: [], ...NONE, next_before_id: null },
  '/api/shelves': { listings: [], ...NONE, next_cursor: null },
  '/treasury': {
    ...{ address: treasury, recent_fees: [], fees_count: 0, fees_returned: 0, fees_page_size: 0, fees_has_more: false },
    ...{ fees_next_before_id: null, fees_collected_usdc: 0 },
  },
};

const queryOf = (path: string): URLSearchParams => new URL(path, url).searchParams;
function sized(body: Record<string, unknown>, path: string): Record<string, unknown> {
  const size = Number(queryOf(path).get('limit'));
  return { ...body, ...('fees_page_size' in body ? { fees_page_size: size } : { page_size: size }) };
}

function send(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Returns a log of events of about `bytes` each, which is as long as it claims or longer. Its pages are in order. */
function endlessLog(given: { bytes: number; total: number; newest?: number }): Handler {
  const { bytes, total, newest = total } = given;
  const text = 'x'.repeat(bytes);
  return (_request, response, path) => {
    const query = queryOf(path);
    const limit = Number(query.get('limit'));
    const before = Number(query.get('before_id') ?? newest + 1);
    const events = Array.from({ length: Math.min(limit, before - 1) }, (_, at) => {
      const id = before - 1 - at;
      return {
        id,
        at: '2026-01-05T12:00:00.000Z',
        kind: 'register',
        actor: 'somebody',
        detail: { merchant_id: id, text },
      };
    });
    const last = events.at(-1)?.id ?? 0;
    const counts = { total, returned: events.length, page_size: limit, has_more: last > 1 };
    send(response, { events, ...counts, next_before_id: last > 1 ? last : null });
  };
}

interface Ended {
  code: number | null;
  out: string;
  err: string;
  mostMb: number;
}

/** Module that prints peak memory at exit. */
const PRINT_MEMORY =
  'data:text/javascript,process.on("exit",()=>process.stderr.write("KB "+process.resourceUsage().maxRSS+"\\n"))';

/** Runs the audit with so little memory that it would crash if it kept what it reads. */
async function runProgram(...more: string[]): Promise<Ended> {
  const program = join(import.meta.dirname, '../audit/main.ts');
  const args = [
    `--max-old-space-size=${HEAP_MB}`,
    `--import=${PRINT_MEMORY}`,
    program,
    '--market',
    url,
    '--rpc',
    chain.url,
    ...more,
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  const ended = { out: '', err: '' };
  child.stdout.on('data', (data: Buffer) => {
    ended.out += data;
  });
  child.stderr.on('data', (data: Buffer) => {
    ended.err += data;
  });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  running.delete(child);
  const [told = '', kb] = /KB (\d+)\n$/.exec(ended.err) ?? [];
  return { code, out: ended.out, err: ended.err.slice(0, ended.err.length - told.length), mostMb: Number(kb) / 1_024 };
}

async function expectBound(words: RegExp, ...more: string[]): Promise<number> {
  const { code, out, err, mostMb } = await runProgram(...more);
  expect(err).toMatch(words);
  expect([code, out]).toEqual([2, '']);
  expect(mostMb).toBeLessThan(MAX_MB);
  return mostMb;
}

const UNFINISHED = 'the audit could not finish: ';

describe('a log without an end', () => {
  it('of events of 30 kB each ends at the first of them, in words', async () => {
    lies = { '/api/events': endlessLog({ bytes: 30_000, total: 1_000_000_000 }) };
    // One page of these events exceeds the limit for an answer.
    const words = /could not finish: GET \/api\/events answers with more than 2097152 bytes, .*Ask who runs it\n$/;
    expect(await expectBound(words)).toBeLessThan(200);
  });

  it('of few events of 30 kB a page ends at the first of them', async () => {
    const events = endlessLog({ bytes: 30_000, total: 20 });
    lies = { '/api/events': events };
    const words = /could not finish: event \d+ has 30\d\d\d bytes, and a market writes none of more than 8192/;
    expect(await expectBound(words)).toBeLessThan(200);
  });

  it('of 10^9 events is refused before it is read', async () => {
    lies = { '/api/events': endlessLog({ bytes: 10, total: 1_000_000_000 }) };
    await expectBound(/the log has 1000000000 events, and at most 1000000 are read. Allow more with --max-events\n$/);
  });

  it('of more events than it says ends where it contradicts itself', async () => {
    lies = { '/api/events': endlessLog({ bytes: 5_000, total: 5_000, newest: 1_000_000_000 }) };
    const { code, out, mostMb } = await runProgram();
    expect([code, mostMb < MAX_MB]).toEqual([1, true]);
    expect(out).toMatch(/FAULT: the public log contradicts itself: it has more than the 5000 events that it says\n/);
  });

  // The heap is smaller than the log, so an audit that kept the events would crash without a report.
  it('of 100 MB in honest pages is hashed to its end in a heap of less than that', async () => {
    lies = { '/api/events': endlessLog({ bytes: 5_000, total: 20_000 }) };
    const { code, out, mostMb } = await runProgram();
    expect(out).toMatch(/log: 20000 events from the first on, the last 20000, running hash [0-9a-f]{64}\n/);
    expect(code).toBe(0);
    expect(mostMb).toBeLessThan(MAX_MB);
    await expectBound(/the log has 20000 events, and at most 19999 are read/, '--max-events', '19999');
  });
});

describe('an answer without an end', () => {
  const endless: Handler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const write = (): void => {
      while (!response.destroyed && response.write('[['.repeat(32_768)));
      if (!response.destroyed) response.once('drain', write);
    };
    write();
  };
  const bomb: Handler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
    const zip = createGzip({ level: 9 });
    zip.pipe(response);
    response.once('close', () => zip.destroy());
    const write = (): void => {
      while (!response.destroyed && zip.write(Buffer.alloc(1_048_576, 0x20)));
      if (!response.destroyed) zip.once('drain', write);
    };
    write();
  };
  const deep: Handler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(`${'['.repeat(900_000)}${']'.repeat(900_000)}`);
  };
  const nested: Handler = (_request, response, path) => {
    const limit = Number(queryOf(path).get('limit'));
    const detail = `{"a":${'['.repeat(3_000)}${']'.repeat(3_000)}}`;
    const event = `{"id":1,"at":"2026-01-05T12:00:00.000Z","kind":"flag","actor":"x","detail":${detail}}`;
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"events":[${event}],"total":1,"returned":1,"page_size":${limit},"has_more":false,"next_before_id":null}`);
  };
  const drip: Handler = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), 500);
    response.once('close', () => clearInterval(timer));
  };
  const around: Handler = (_request, response, path) => void response.writeHead(307, { location: path }).end();
  const busy: Handler = (_request, response) => void response.writeHead(503, { 'retry-after': '0' }).end();

  const ANSWERS = ['/api/official', '/treasury', '/api/events', '/api/shelves'] as const;
  it.each(ANSWERS)('of %s ends after two megabytes, packed or not', async (path) => {
    const words = new RegExp(`${UNFINISHED}GET ${path} answers with more than 2097152 bytes`);
    lies = { [path]: endless };
    await expectBound(words);
    lies = { [path]: bomb };
    await expectBound(words);
  });

  it('that comes byte by byte ends after half a minute', async () => {
    lies = { '/api/events': drip };
    await expectBound(/could not finish: GET \/api\/events: no whole answer came within 30 s\n$/);
  });

  it.each<[string, Handler, RegExp]>([
    [
      'as deep as it is long',
      deep,
      /could not finish: (?:GET \/api\/events is answered with what is no JSON|the log is a list)/,
    ],
    ['that leads to itself', around, /could not finish: GET \/api\/events leads to another address/],
    ['that is always busy', busy, /could not finish: GET \/api\/events is answered with 503/],
  ])('%s ends in words', async (_name, handler, words) => {
    lies = { '/api/events': handler };
    await expectBound(words);
  });

  it('a deep event is a fault', async () => {
    lies = { '/api/events': nested };
    const { code, out } = await runProgram();
    expect(code).toBe(1);
    expect(out).toMatch(/FAULT: the public log contradicts itself: event 1 has more than 6 levels/);
  });
});

describe('books without an end', () => {
  const fee = (id: number) => ({
    ...{ id, listing_id: null, merchant: 'x', amount_usdc: 1, tx_hash: `0x${'5'.repeat(64)}`, verified_via: 'x402' },
    ...{ block_time: '2026-01-05T12:00:00.000Z', created_at: '2026-01-05T12:00:00.000Z' },
  });
  const fees =
    (count: number): Handler =>
    (_request, response, path) => {
      const query = queryOf(path);
      const size = Number(query.get('limit'));
      const before = Number(query.get('before_id') ?? 1e12);
      const rows = Array.from({ length: size }, (_, at) => fee(before - 1 - at));
      const counts = { fees_count: count, fees_returned: size, fees_page_size: size, fees_has_more: true };
      const next = { fees_next_before_id: rows.at(-1)?.id, fees_collected_usdc: 1 };
      send(response, { address: treasury, recent_fees: rows, ...counts, ...next });
    };

  it('of the treasury end in words', async () => {
    lies = { '/treasury': fees(1_000_000_000) };
    await expectBound(/the treasury says 1000000000 fees, and at most 1000000 are read. Allow more with --max-events/);
    lies = { '/treasury': fees(60) };
    const { code, out } = await runProgram();
    expect(code).toBe(1);
    expect(out).toMatch(/FAULT: the treasury's books contradict themselves: they have more than 60 fees\n/);
  });

  it('of shelves end in words', async () => {
    const row = (id: number) => ({
      ...{ id, seller_wallet: treasury, price_usdc: 1, artifact_commitment: null, merchant: 'x', supersedes: null },
      ...{ delivery_kind: 'artifact', state: 'live' },
    });
    let page = 0;
    const shelves =
      (total: number): Handler =>
      (_request, response, path) => {
        const size = Number(queryOf(path).get('limit'));
        page += 1;
        const listings = Array.from({ length: size }, (_, at) => row(page * size + at));
        const counts = { total, returned: size, page_size: size, has_more: true };
        send(response, { listings, ...counts, next_cursor: `page-${page}` });
      };
    lies = { '/api/shelves': shelves(1_000_000_000) };
    await expectBound(
      /the shelves say 1000000000 listings, and at most 1000000 are read. Allow more with --max-events/,
    );
    lies = { '/api/shelves': shelves(100) };
    const { code, out, mostMb } = await runProgram('--max-events', '2000');
    expect([code, mostMb < MAX_MB]).toEqual([1, true]);
    expect(out).toMatch(/FAULT: the shelves contradict themselves: their pages do not end\n/);
    expect(out).toMatch(/FAULT: and \d+ more faults\n/);
  });
});

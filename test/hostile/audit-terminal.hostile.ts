import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { idOf, startRpcServer } from '../support/rpc-server.ts';
import { type BusyMarket, type LogRow, lie, runOn, startBusyMarket } from './lying-market.ts';

// A market attacks its auditor's terminal. Every field tries to clear the screen, reverse the direction and start a new line.

const HOSTILE = '1\u001b[2J\u001b[H\u009b1A\u202e\u2066\u2028\r\n0 faults\nFAULT: none\u0007\u{e0041}\u200d';
/** Matches output that is safe for people: line feeds, and no character that moves the cursor, changes the direction or is hidden. */
const PLAIN = /^(?:[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]|\n)*$/u;
/** Matches the known beginnings of lines in report and progress. */
const LINE =
  /^(?:market|log|sales|fees|listings|promises|transfers|sellers|FAULT|treasury 0x[0-9a-f]{40}): |^ {2}(?:in no book|surplus from|and )|^\d+ faults$|^the audit could not finish: |^transfers to |^\d+ (?:of|events|fees|listings)/;

/** Fields that an audit reads, which are attacked one by one. All others are attacked together. */
const READ = new Set(
  [
    'network usdc_contract treasury listing_fee_usdc address amount_usdc tx_hash verified_via block_time fees_count fees_returned',
    'fees_page_size fees_collected_usdc id at kind actor detail total returned page_size seller_wallet price_usdc artifact_commitment',
    'merchant supersedes delivery_kind state next_cursor listing_id',
  ].flatMap((names) => names.split(' ')),
);

let market: BusyMarket;
beforeAll(async () => {
  market = await startBusyMarket();
});
afterEach(() => market?.proxy.twist(null));
afterAll(() => market?.close());

type Path = readonly (string | number)[];

/** Returns the paths of all texts and numbers in an answer. For lists, only of the first and last item. */
function placesIn(value: unknown, path: Path = []): Path[] {
  if (typeof value === 'string' || typeof value === 'number') return [path];
  if (typeof value !== 'object' || value === null) return [];
  const members = Object.entries(value);
  const some = Array.isArray(value) ? members.filter((_, at) => at === 0 || at === members.length - 1) : members;
  return some.flatMap(([name, one]) => placesIn(one, [...path, name]));
}

function put(body: unknown, path: Path, value: unknown): unknown {
  const [name, ...rest] = path;
  if (name === undefined) return value;
  const copy = structuredClone(body) as Record<string | number, unknown>;
  copy[name] = put(copy[name], rest, value);
  return copy;
}

async function expectPlain(...more: string[]): Promise<number> {
  const { code, out, err } = await runOn(market, ...more);
  for (const text of [out, err]) {
    expect(text).toMatch(PLAIN);
    expect(text).not.toMatch(/^FAULT: none/m);
    if (!more.includes('--json')) for (const line of text.split('\n').slice(0, -1)) expect(line).toMatch(LINE);
  }
  expect(out.match(/^\d+ faults$/gm)?.length ?? 0).toBeLessThanOrEqual(1);
  if (more.includes('--json') && out !== '') expect(() => JSON.parse(out)).not.toThrow();
  return code;
}

const ANSWERS = ['/api/official', '/treasury', '/api/events', '/api/shelves'];

describe('control characters in one field', () => {
  it.each(ANSWERS)(
    'of %s are never printed, whatever field it is',
    async (start) => {
      const answer = await fetch(market.world.url + start, { headers: { accept: 'application/json' } });
      const places = placesIn(await answer.json());
      const read = places.filter((place) => place.some((name) => READ.has(String(name))));
      expect(read.length).toBeGreaterThan(3);
      const others = places.filter((place) => !read.includes(place));
      for (const some of [others, ...read.map((place) => [place])]) {
        lie(market, {
          answer: ({ path, json }) => {
            if (!path.startsWith(start)) return null;
            return { status: 200, json: some.reduce<unknown>((body, place) => put(body, place, HOSTILE), json) };
          },
        });
        await expectPlain();
      }
    },
    120_000,
  );

  it('of an event are shown as their codes in the fault that names them', async () => {
    const sale = market.log.find(({ kind }) => kind === 'sale') as LogRow;
    for (const name of ['listing_id', 'tx_hash', 'paid_usdc']) {
      lie(market, {
        log: (rows) =>
          rows.map((row) => (row.id === sale.id ? { ...row, detail: { ...row.detail, [name]: HOSTILE } } : row)),
      });
      expect(await expectPlain()).toBe(1);
      expect(await expectPlain('--json')).toBe(1);
      const { out } = await runOn(market);
      expect(out).toMatch(new RegExp(`^FAULT: event ${sale.id}\\b.*\\\\u001b\\[2J`, 'm'));
    }
  });

  it('of events of every kind are never printed, whatever member of them it is', async () => {
    const kinds = [...new Map(market.log.map((row) => [row.kind, row])).values()];
    expect(kinds.length).toBeGreaterThan(7);
    for (const { id, detail } of kinds)
      for (const name of Object.keys(detail)) {
        lie(market, {
          log: (rows) =>
            rows.map((row) => (row.id === id ? { ...row, detail: { ...row.detail, [name]: HOSTILE } } : row)),
        });
        await expectPlain();
      }
  }, 120_000);

  it('of a refusal, of a redirect and of an answer that is no JSON are not printed', async () => {
    const refusals = [
      { status: 400, json: { status: 400, reason: HOSTILE } },
      { status: 404, json: { status: 404, reason: HOSTILE, detail: HOSTILE } },
      { status: 500, text: HOSTILE },
      { status: 200, text: HOSTILE },
      { status: 302, text: '', headers: { location: 'http://127.0.0.1/%1b[2J' } },
    ];
    for (const refusal of refusals)
      for (const start of ANSWERS) {
        lie(market, { answer: ({ path }) => (path.startsWith(start) ? refusal : null) });
        expect(await expectPlain()).toBeGreaterThan(0);
      }
  }, 120_000);
});

it('what an endpoint of the chain says is printed by the same cleaner', async () => {
  const server = await startRpcServer();
  server.answer((response, body) => {
    const error = { code: -32_000, message: HOSTILE };
    response.end(JSON.stringify({ jsonrpc: '2.0', id: idOf(body), error }));
  });
  try {
    const { code, out, err } = await runOn(market, '--rpc', server.url);
    expect([code, out]).toEqual([2, '']);
    expect(err).toMatch(PLAIN);
    expect(err.split('\n')).toHaveLength(2);
  } finally {
    await server.close();
  }
});

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { checkPortsFree, portsFrom } from '../../src/local/open-servers.ts';
import type { DemoEvent } from '../../src/local/tell.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { rotated } from '../suite/rotation.ts';
import { compileCache } from '../support/compile-cache.ts';

const DEMO = fileURLToPath(new URL('../../src/local/demo.ts', import.meta.url));
/** Timeout, since the story waits for real blocks. */
const STORY_MS = 120_000;

const dataDir = mkdtempSync(join(tmpdir(), 'openaisle-demo-'));
// If only root could enter the parent folder, root's embedded database would go elsewhere and stay there.
chmodSync(dataDir, 0o711);
const started: ChildProcess[] = [];

afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
});
afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

async function freePorts(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt += 1) {
    const first = 24_000 + systemRandom.int(8_000);
    const free = await checkPortsFree(portsFrom(first)).then(
      () => true,
      () => false,
    );
    if (free) return first;
  }
  throw new Error('no four free ports in a row');
}

async function start(...more: string[]) {
  const firstPort = await freePorts();
  const args = [DEMO, '--json', '--data', dataDir, '--ports', String(firstPort), ...more];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...compileCache() },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  started.push(child);
  const told: DemoEvent[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => told.push(JSON.parse(line) as DemoEvent));
  const exited = once(child, 'close').then(() => child.exitCode);
  const until = (wanted: (line: DemoEvent) => boolean): Promise<void> =>
    expect.poll(() => told.some(wanted), { timeout: STORY_MS, interval: 20 }).toBe(true);
  return { child, told, exited, until, ports: portsFrom(firstPort) };
}

const stepsIn = (told: readonly DemoEvent[]): string[] =>
  told.flatMap((line) => (line.kind === 'step' ? [line.name] : []));
const heldIn = (told: readonly DemoEvent[]): string[] =>
  told.flatMap((line) => (line.kind === 'held' ? [line.text] : []));
const isPart = (name: string) => (line: DemoEvent) => line.kind === 'part' && line.name === name;

/** Lists processes with the data folder in their command line or environment. */
function processesOfWorld(): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => ['cmdline', 'environ'].some((file) => readOrNothing(`/proc/${pid}/${file}`).includes(dataDir)));
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

async function nothingIsLeft(ports: ReturnType<typeof portsFrom>): Promise<void> {
  await expect.poll(processesOfWorld, { timeout: 20_000, interval: 50 }).toEqual([]);
  await checkPortsFree(ports);
}

/** Runs the commands that the demonstration prints at its end, twice, because a repeated command must continue and pay only once. */
async function tryAsTold(told: readonly DemoEvent[]): Promise<void> {
  const places = told.flatMap((line) => (line.kind === 'places' ? line.places : []));
  const [first, search, buy, sell] = ['first', 'search', 'buy', 'sell'].map(
    (name) => places.find((place) => place.name === name)?.what,
  );
  const sh = async (command: string | undefined): Promise<Record<string, unknown>> => {
    const { stdout } = await promisify(execFile)('sh', ['-ec', `${first}\n${command} --json`]);
    return JSON.parse(stdout) as Record<string, unknown>;
  };
  expect(await sh(search)).toMatchObject({ status: 'ok', returned: expect.toSatisfy((rows: number) => rows > 0) });
  const bought = await sh(buy);
  expect(bought).toMatchObject({ status: 'ok' });
  expect(readFileSync(String(bought['path']), 'utf8')).toMatch(/final/);
  expect(await sh(buy)).toMatchObject({ status: 'ok', path: bought['path'] });
  expect(await sh(sell)).toMatchObject({ status: 'ok', already_listed: false });
  expect(await sh(sell)).toMatchObject({ status: 'ok', already_listed: true });
}

describe.runIf(process.platform === 'linux')('npm run demo', () => {
  it(
    'tells the whole story, every step of it holds, it exits 0 and leaves no process behind',
    async () => {
      const { told, exited, ports } = await start('--exit');
      expect(await exited).toBe(0);
      expect(stepsIn(told)).toEqual([
        'join',
        'list-priced',
        'buy-with-key',
        'buy-with-wallet',
        'pay-directly',
        'replay',
        'maintainer-lists',
        'take-free',
        'sell-thing',
        'books',
      ]);
      const purchases = told.filter((line) => line.kind === 'request' && line.path === '/api/buy/1');
      const statuses = purchases
        .map((line) => (line.kind === 'request' ? line.status : 0))
        .filter((status) => status !== 503);
      expect(statuses).toEqual([402, 404, 402, 202, 200, 402, 404, 402, 202, 200, 409]);
      await nothingIsLeft(ports);
    },
    STORY_MS,
  );

  it('shows no secret, and keeps keys where only their owner can read them', async () => {
    for (const name of ['keeper', 'mira', 'tomas']) {
      expect(statSync(join(dataDir, 'keys', `${name}.json`)).mode & 0o777).toBe(0o600);
    }
    for (const resident of ['mira-of-the-hill', 'tomas-by-the-river']) {
      expect(statSync(join(dataDir, 'keys', 'city', `${resident}.json`)).mode & 0o777).toBe(0o600);
    }
    expect(statSync(join(dataDir, 'facilitator.key')).mode & 0o777).toBe(0o600);
    const { merchant_key: key } = JSON.parse(readFileSync(join(dataDir, 'keys', 'mira.json'), 'utf8'));
    for (const log of readdirSync(join(dataDir, 'logs'))) {
      expect(readFileSync(join(dataDir, 'logs', log), 'utf8')).not.toContain(key);
    }
  });

  it(
    'finds everything again, sells one more item, and serves until Ctrl-C closes it cleanly',
    async () => {
      const { child, told, exited, until, ports } = await start();
      await until((line) => line.kind === 'places');
      expect(stepsIn(told)).toEqual(['found-again', 'list-priced', 'buy-with-key', 'replay', 'books']);
      expect(heldIn(told)).toContain('what was bought is delivered again');
      expect(heldIn(told)).toContain('4 fees of 1 USDC, each with its transaction');
      const front = await fetch(`http://127.0.0.1:${ports.market}/`);
      expect(front.status).toBe(200);
      await tryAsTold(told);
      child.kill('SIGINT');
      expect(await exited).toBe(0);
      await nothingIsLeft(ports);
    },
    STORY_MS,
  );

  // Each of these tests starts a whole world on the data that the story left.
  it.each(
    rotated<[string, () => Promise<void>]>(import.meta.filename, [
      [
        'with --mcp the seller and the buyer use tools alone, and the rest of the story stays as it is',
        async () => {
          const { told, exited, ports } = await start('--exit', '--mcp');
          const code = await exited;
          expect(told.filter(({ kind }) => kind === 'broken')).toEqual([]);
          expect(code).toBe(0);
          expect(stepsIn(told)).toEqual(['found-again', 'agent-lists', 'agent-buys', 'replay', 'books']);
          const requests = told.flatMap((line) => (line.kind === 'request' ? [line] : []));
          const calls = requests.filter(({ method }) => method === 'tool');
          const paid = calls.filter(({ sent }) => sent.includes('x402/payment'));
          expect(new Set(paid.map(({ path }) => path.split(' ')[0]))).toEqual(new Set(['list_item', 'buy']));
          expect(requests.filter(({ path }) => path === '/api/listing')).toEqual([]);
          const { merchant_key: key } = JSON.parse(readFileSync(join(dataDir, 'keys', 'mira.json'), 'utf8'));
          expect(JSON.stringify(told)).not.toContain(key);
          await nothingIsLeft(ports);
        },
      ],
      [
        'exits 1 and names the step when something does not hold',
        async () => {
          const file = join(dataDir, 'story.json');
          const kept = readFileSync(file, 'utf8');
          writeFileSync(file, JSON.stringify({ ...JSON.parse(kept), events_total: 1_000_000 }));
          const { told, exited, ports } = await start('--exit');
          expect(await exited).toBe(1);
          expect(told).toContainEqual(expect.objectContaining({ kind: 'broken', step: 'found-again' }));
          expect(told).toContainEqual(expect.objectContaining({ kind: 'end', ok: false }));
          writeFileSync(file, kept);
          await nothingIsLeft(ports);
        },
      ],
      [
        'stops at once when a part of it dies, and says which',
        async () => {
          const { told, exited, until, ports } = await start();
          await until((line) => line.kind === 'step');
          const facilitator = processesOfWorld().find((pid) =>
            readOrNothing(`/proc/${pid}/cmdline`).includes('/src/facilitator/main.ts'),
          );
          process.kill(Number(facilitator), 'SIGKILL');
          expect(await exited).toBe(1);
          const end = told.find((line) => line.kind === 'end');
          expect(end?.kind === 'end' && end.text).toContain('The facilitator stopped unexpectedly');
          await nothingIsLeft(ports);
        },
      ],
      [
        'leaves nothing running when it is killed',
        async () => {
          const { child, exited, until, ports } = await start();
          await until(isPart('market'));
          child.kill('SIGKILL');
          await exited;
          await nothingIsLeft(ports);
        },
      ],
      [
        'says which port is taken before it starts anything',
        async () => {
          const firstPort = await freePorts();
          const server = createServer().listen(firstPort + 1, '127.0.0.1');
          await once(server, 'listening');
          const child = spawn(process.execPath, [DEMO, '--data', dataDir, '--ports', String(firstPort)], {
            stdio: 'pipe',
          });
          let said = '';
          child.stdout.setEncoding('utf8').on('data', (text: string) => {
            said += text;
          });
          await once(child, 'close');
          server.close();
          expect(child.exitCode).toBe(1);
          expect(said).toContain(`Port ${firstPort + 1} (facilitator) is in use`);
          expect(said).not.toContain('chain id');
        },
      ],
    ]),
  )('%s', (_, play) => play(), STORY_MS);
});

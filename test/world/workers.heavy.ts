import { once } from 'node:events';
import { connect } from 'node:net';
import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { findEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';
import { browsePage } from '../support/ask.ts';
import { testDatabase } from '../support/database.ts';
import { freePort } from '../support/free-port.ts';
import { type Environment, type MainProcess, mainProcesses } from '../support/main-process.ts';
import { marketContext } from '../support/market-context.ts';
import { seedListing, seedMerchant, seedVote, withdrawListing } from '../support/seed.ts';

const db = testDatabase();
const patiently = { timeout: 50_000, interval: 20 };
// Most of these tests start three processes, one also a database.
const LONG_MS = 60_000;

/** Returns the latest process id of each worker, from their start messages. */
function serving(market: MainProcess): Map<number, number> {
  return new Map(market.lines('market_listening').map(({ worker, pid }) => [Number(worker), Number(pid)]));
}

async function twoOf(start: (env: Environment) => MainProcess, env: Environment): Promise<MainProcess> {
  const market = start({ ...env, OPENAISLE_WORKERS: '2' });
  await expect.poll(() => serving(market).size, patiently).toBe(2);
  return market;
}

function pidOf(market: MainProcess, worker: number): number {
  const pid = serving(market).get(worker);
  if (pid === undefined) throw new Error(`worker ${worker} does not serve`);
  return pid;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Sends a request on a new connection, so that it goes to the next worker. */
async function read(market: MainProcess, path = '/healthz', headers: Environment = {}): Promise<number> {
  const answer = await fetch(`${market.url}${path}`, { headers: { connection: 'close', ...headers } });
  await answer.arrayBuffer();
  return answer.status;
}

/** Reads a page from the next worker and drops the cursor, which differs by process. */
async function pageOf(market: MainProcess, path: string): Promise<unknown> {
  const answer = await fetch(`${market.url}/api/shelves?limit=50${path}`, { headers: { connection: 'close' } });
  const { next_cursor: _, ...page } = (await answer.json()) as Record<string, unknown>;
  return page;
}

describe('two workers', { timeout: LONG_MS }, () => {
  const { onGivenDatabase, start } = mainProcesses(db, 'describe');
  let metricsPort = 0;
  let started: Promise<MainProcess> | null = null;

  const startOnce = async (): Promise<MainProcess> => {
    metricsPort = await freePort();
    return twoOf(start, await onGivenDatabase({ OPENAISLE_METRICS_PORT: String(metricsPort) }));
  };
  const running = (): Promise<MainProcess> => {
    started ??= startOnce();
    return started;
  };
  const metrics = async (): Promise<string> => (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();

  it('take turns on one port, and the metrics port tells of each', async () => {
    const market = await running();
    expect(new Set([...serving(market).values(), market.child.pid]).size).toBe(3);
    for (let turn = 0; turn < 4; turn += 1) expect(await read(market)).toBe(200);
    expect(new Set(market.lines('request').map(({ worker }) => worker))).toEqual(new Set([1, 2]));
    const text = await metrics();
    expect(text).toContain('openaisle_workers_ready{worker="0"} 2');
    for (const worker of ['1', '2']) {
      expect(text).toMatch(new RegExp(`^process_resident_memory_bytes\\{worker="${worker}"\\} \\d{6,}$`, 'm'));
      expect(text).toContain(`openaisle_http_requests_total{route="/healthz",status="200",worker="${worker}"}`);
    }
    expect((await fetch(`${market.url}/metrics`)).status).toBe(404);
  });

  it('one that is killed is replaced, its duty is taken over within 5 s, and requests go on being answered', async () => {
    const market = await running();
    const holders = (): number[] =>
      market.lines('job_leader_acquired').flatMap(({ name, worker }) => (name === 'reconcile' ? [Number(worker)] : []));
    await expect.poll(() => holders().length, patiently).toBe(1);
    const [holder = 0] = holders();
    const before = new Map(serving(market));
    const killedAt = systemClock.now();
    process.kill(pidOf(market, holder), 'SIGKILL');
    await market.logged('worker_ended');
    for (let turn = 0; turn < 10; turn += 1) expect(await read(market)).toBe(200);
    await expect.poll(() => holders().length, { interval: 20 }).toBe(2);
    expect(systemClock.now() - killedAt).toBeLessThan(5_000);
    await expect.poll(() => serving(market).get(holder), patiently).not.toBe(before.get(holder));
    expect(serving(market).get(3 - holder)).toBe(before.get(3 - holder));
    expect(market.lines('worker_ended')).toMatchObject([{ pid: before.get(holder), signal: 'SIGKILL' }]);
    for (let turn = 0; turn < 4; turn += 1) expect(await read(market)).toBe(200);
    expect(await metrics()).toContain('openaisle_worker_restarts_total{worker="0"} 1');
  });

  it('one that is killed while listings change leaves the other right, and its successor equals the database', async () => {
    const market = await running();
    const before = new Map(serving(market));
    const seller = await seedMerchant(db.database);
    const voters = [await seedMerchant(db.database), await seedMerchant(db.database)];
    let stop = false;
    let changes = 0;
    const write = async (): Promise<void> => {
      const ids: bigint[] = [];
      while (!stop || ids.length < 40) {
        const { id } = await seedListing(db.database, seller.id, {
          aisle: 'tools',
          tags: ['lamp'],
          title: `lamp ${changes}`,
        });
        ids.push(id);
        for (const voter of voters) await seedVote(db.database, id, voter.id);
        if (changes % 3 === 0) await withdrawListing(db.database, ids[changes >> 1] ?? id);
        changes += 1;
      }
    };
    const writing = write();
    await expect.poll(() => changes, patiently).toBeGreaterThan(10);
    process.kill(pidOf(market, 2), 'SIGKILL');
    await expect.poll(() => serving(market).get(2), patiently).not.toBe(before.get(2));
    stop = true;
    await writing;

    const paths = ['', '&aisle=tools', '&tag=lamp', '&sort=karma', '&q=lamp', '&q=lamp&sort=price_desc'];
    const fresh = marketContext({ database: db.database });
    for (const path of paths) {
      const query = Object.fromEntries(new URLSearchParams(path));
      const { next_cursor: _, ...page } = await browsePage(fresh, query);
      // Round robin asks each of the two workers twice.
      for (let turn = 0; turn < 4; turn += 1) await expect.poll(() => pageOf(market, path), patiently).toEqual(page);
    }
    expect(serving(market).get(1)).toBe(before.get(1));
  });

  it('a connection handed to one that dies before it takes it is closed and does not hang', async () => {
    const market = await running();
    const before = new Map(serving(market));
    process.kill(pidOf(market, 1), 'SIGSTOP');
    const port = Number(new URL(market.url).port);
    let answered = 0;
    const ended = [1, 2].map(async () => {
      const socket = connect(port, '127.0.0.1');
      socket.on('data', () => {
        answered += 1;
      });
      socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
      // Either a reset or a close ends the client's wait.
      await once(socket, 'close').catch(() => {});
    });
    await expect.poll(() => answered, patiently).toBe(1);
    expect(await metrics()).not.toContain('worker="1"');
    process.kill(pidOf(market, 1), 'SIGKILL');
    await Promise.all(ended);
    expect(answered).toBe(1);
    await expect.poll(() => serving(market).get(1), patiently).not.toBe(before.get(1));
  });

  it('at SIGTERM answer what is in flight and take nothing new, and the supervisor exits 0', async () => {
    const market = await running();
    const workers = [...serving(market).values()];
    const key = { authorization: `Bearer ${makeMerchantKey(systemRandom, 'aisle')}` };
    const endedBefore = market.lines('worker_ended').length;
    let answers: Promise<number[]> | undefined;
    await db.database.transaction(async (tx) => {
      await tx.run(sql`lock table merchant_keys in access exclusive mode`);
      answers = Promise.all([read(market, '/api/me', key), read(market, '/api/me', key)]);
      const waiting = sql`select pid from pg_locks where relation = 'merchant_keys'::regclass and not granted`;
      await expect.poll(async () => (await tx.rows(waiting)).length, patiently).toBe(2);
      market.child.kill('SIGTERM');
      await expect.poll(() => market.lines('stopping').length, patiently).toBe(3);
      await expect.poll(() => read(market).then(String, () => 'refused'), patiently).toBe('refused');
      expect(market.child.exitCode).toBeNull();
    });
    expect(await answers).toEqual([401, 401]);
    expect(await market.exited).toBe(0);
    expect(workers.filter(isAlive)).toEqual([]);
    expect(market.lines('worker_ended')).toHaveLength(endedBefore);
  });
});

describe('a supervisor', { timeout: LONG_MS }, () => {
  const { environment, folder, onGivenDatabase, start } = mainProcesses(db);

  it('stops its embedded database after the workers, also when a signal comes to all processes at once', async () => {
    const market = await twoOf(start, await environment());
    expect(await findEmbeddedPostgres(folder())).not.toBeNull();
    expect(market.lines('migrated').every(({ worker }) => worker === 0)).toBe(true);
    for (const pid of [market.child.pid ?? 0, ...serving(market).values()]) process.kill(pid, 'SIGINT');
    expect(await market.exited).toBe(0);
    expect(market.lines('stop_forced')).toEqual([]);
    expect(await findEmbeddedPostgres(folder())).toBeNull();
  });

  it('that is killed takes its workers with it', async () => {
    const market = await twoOf(start, await onGivenDatabase());
    const workers = [...serving(market).values()];
    market.child.kill('SIGKILL');
    await expect.poll(() => workers.filter(isAlive)).toEqual([]);
    await expect.poll(() => market.lines('supervisor_gone').length, patiently).toBe(2);
  });

  it('ends when none of its workers can start', async () => {
    const taken = start(await onGivenDatabase({ OPENAISLE_METRICS_PORT: String(await freePort()) }));
    await taken.logged('market_listening');
    const port = new URL(taken.url).port;
    const market = start(await onGivenDatabase({ OPENAISLE_PORT: port, OPENAISLE_WORKERS: '2' }));
    expect(await market.exited).toBe(1);
    expect(market.lines('market_not_started').length).toBeGreaterThanOrEqual(2);
    expect(await market.logged('workers_failed')).toContain('Every worker ends soon after its start');
    expect(await read(taken)).toBe(200);
    const [{ port: metricsPort } = {}] = taken.lines('metrics_listening');
    const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text();
    expect(text).toContain('openaisle_http_requests_total{route="/healthz",status="200",worker="1"} 1');
  });
});

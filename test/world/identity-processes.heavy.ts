import { describe, expect, test } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { codeOf, type IdentityClient, identityClient, type Owner, ROOMY } from '../support/identity-doors.ts';
import { mainProcesses } from '../support/main-process.ts';
import { askMarket } from '../support/market-world.ts';

// Two processes share a database. A key that was replaced through one process must stop working on the other.

const ROUNDS = 30;

interface Seen {
  begunAt: number;
  status: number;
}

/** Sends requests with one key to one process without pause until stopped. */
function watchKey(client: IdentityClient, key: string) {
  const seen: Seen[] = [];
  let isOver = false;
  const running = (async () => {
    while (!isOver) {
      const begunAt = performance.now();
      seen.push({ begunAt, status: (await client.me(key)).status });
    }
  })();
  return {
    until: async (count: number, status: number): Promise<void> => {
      await expect
        .poll(() => seen.filter((one) => one.status === status).length, { interval: 2, timeout: 60_000 })
        .toBeGreaterThan(count);
    },
    stop: async (): Promise<Seen[]> => {
      isOver = true;
      await running;
      return seen;
    },
  };
}

/** Checks that no request sent after the acknowledged commit is accepted, and that a refused key stays refused. */
function expectDead(seen: readonly Seen[], acknowledgedAt: number, round: number): void {
  const firstRefused = seen.find(({ status }) => status === 401)?.begunAt ?? Number.POSITIVE_INFINITY;
  const dead = Math.min(acknowledgedAt, firstRefused);
  const late = seen.filter(({ begunAt, status }) => begunAt > dead && status !== 401);
  expect(late, `round ${round}`).toEqual([]);
}

type Processes = ReturnType<typeof mainProcesses>;

async function startTwo(processes: Processes, limits: object): Promise<[IdentityClient, IdentityClient]> {
  const changed = { OPENAISLE_LIMITS: JSON.stringify(limits) };
  const start = async (): Promise<IdentityClient> => {
    const market = processes.start(await processes.onGivenDatabase(changed));
    // A start may take long while many tests run.
    await expect.poll(() => market.lines('market_listening').length, { timeout: 120_000 }).toBe(1);
    return identityClient((method, path, asked) => askMarket(market.url, method, path, asked));
  };
  return [await start(), await start()];
}

/** Replaces a key through one process while both processes are queried with it. Returns the number of queries. */
async function replaceUnderWatch(
  clients: readonly [IdentityClient, IdentityClient],
  owner: Owner,
  round: number,
): Promise<number> {
  const by = clients[round % 2 === 0 ? 0 : 1];
  const door = round % 4 < 2 ? 'rotate' : 'recovery';
  const begun = await (door === 'rotate' ? by.rotation(owner.key) : by.recovery(codeOf(owner, round % 8)));
  const watches = clients.flatMap((client) => [watchKey(client, owner.key), watchKey(client, owner.key)]);
  for (const watch of watches) await watch.until(2, 200);
  await by.mustConfirm(door, begun);
  const acknowledgedAt = performance.now();
  for (const client of clients) expect((await client.me(owner.key)).status, `round ${round}`).toBe(401);
  for (const watch of watches) await watch.until(2, 401);
  const seen = await Promise.all(watches.map((watch) => watch.stop()));
  for (const one of seen) expectDead(one, acknowledgedAt, round);
  owner.key = begun.merchant_key;
  if (door === 'recovery') owner.codes = begun.recovery_codes;
  for (const client of clients) expect(await client.isAlive(owner.key)).toBe(true);
  return seen.flat().length;
}

describe('with two market processes', () => {
  const processes = mainProcesses(testDatabase(), 'describe');

  test('an old key dies on both at the commit of rotation or recovery', { timeout: 600_000 }, async () => {
    const clients = await startTwo(processes, ROOMY);
    const started = performance.now();
    const owner = await clients[0].join('on-two');
    let asked = 0;
    for (let round = 0; round < ROUNDS; round += 1) asked += await replaceUnderWatch(clients, owner, round);
    const seconds = ((performance.now() - started) / 1_000).toFixed(1);
    console.error(`${ROUNDS} keys replaced under ${asked} requests on two processes: ${seconds} s`);
  });
});

describe('with two market processes that had no request yet', () => {
  const processes = mainProcesses(testDatabase(), 'describe');

  test('limits hold over both, and both name the same wait', { timeout: 600_000 }, async () => {
    const clients = await startTwo(processes, { recovery_starts_per_ip_hour: 4 });
    const begin = (index: number) =>
      clients[index % 2 === 0 ? 0 : 1].post('recovery', { action: 'begin', recovery_code: 'x' });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => begin(index)));
    const passed = answers.filter(({ status }) => status === 403);
    // If a new hour began meanwhile, the count started again.
    expect([4, 8]).toContain(passed.length);
    const refused = [await begin(0), await begin(1)];
    const waits = refused.map(({ body }) => Number(body['retry_after_seconds']));
    for (const [index, { status, headers }] of refused.entries())
      expect([status, headers.get('retry-after')]).toEqual([429, String(waits[index])]);
    expect(Math.abs((waits[0] ?? 0) - (waits[1] ?? 0))).toBeLessThanOrEqual(5);
  });
});

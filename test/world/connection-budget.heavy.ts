import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { createPepperFrom } from '../../src/platform/pepper.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';
import { type MainProcess, mainProcesses } from '../support/main-process.ts';
import { WIDE_BUDGETS } from '../support/market-context.ts';
import { seedListing, seedMerchant } from '../support/seed.ts';
import { openPostgresGround, type PostgresGround, type PostgresServer } from '../support/standby-postgres.ts';

const LONG_MS = 600_000;
const patiently = { timeout: 180_000, interval: 20 };
const MAX_CONNECTIONS = 30;
/** Connections of each host. Of the server's 30, PostgreSQL reserves 3 and the test uses one. */
const BUDGET = 13;
const WORKERS = 3;
const CLIENTS = 16;
/** The pepper that `onGivenDatabase` writes. */
const PEPPER = createPepperFrom(new Map([[1, Buffer.from('ab'.repeat(32), 'hex')]]));
const LIMITS = JSON.stringify({ ...WIDE_BUDGETS, voices_per_merchant_day: 100_000 });
const REFUSED = /too many clients|remaining connection slots|too many connections/;

describe('two hosts of three processes on a server of thirty connections', { timeout: LONG_MS }, () => {
  let ground: PostgresGround;
  let postgres: PostgresServer;
  let database: Database;
  const server = {
    get url() {
      return postgres.url;
    },
  };
  const hosts = [mainProcesses(server, 'describe'), mainProcesses(server, 'describe')];

  beforeAll(async () => {
    ground = await openPostgresGround();
    postgres = await ground.startPrimary({ settings: { max_connections: String(MAX_CONNECTIONS) } });
    await migrate(postgres.url, MIGRATIONS);
    database = await openDatabase({ url: postgres.url, poolSize: 1 });
  }, LONG_MS);
  afterAll(async () => {
    await database?.close();
    await ground?.drop();
  });

  const startHost = async (nth: number, changed: Record<string, string> = {}): Promise<MainProcess> => {
    const host = hosts[nth];
    if (host === undefined) throw new RangeError('there are two hosts');
    const given = {
      OPENAISLE_WORKERS: String(WORKERS),
      OPENAISLE_DATABASE_CONNECTIONS: String(BUDGET),
      OPENAISLE_LIMITS: LIMITS,
      ...changed,
    };
    return host.start(await host.onGivenDatabase(given));
  };
  const connections = async (): Promise<number> =>
    Number(
      (await database.one<{ n: bigint }>(sql`select count(*) as n from pg_stat_activity where usename is not null`)).n,
    );

  it('a budget that the server has no room for, or the processes not enough of, stops the start with the number that would do', async () => {
    const tooMany = await startHost(0, { OPENAISLE_DATABASE_CONNECTIONS: '28' });
    expect(await tooMany.exited).toBe(1);
    expect(tooMany.said.join('\n')).toContain('OPENAISLE_DATABASE_CONNECTIONS must be at most 27');
    const tooFew = await startHost(0, { OPENAISLE_DATABASE_CONNECTIONS: '11' });
    expect(await tooFew.exited).toBe(1);
    expect(tooFew.said.join('\n')).toContain(
      'OPENAISLE_DATABASE_CONNECTIONS must be at least 12 with OPENAISLE_WORKERS 3',
    );
    const alone = await startHost(0, { OPENAISLE_DATABASE_CONNECTIONS: '5', OPENAISLE_WORKERS: '1' });
    expect(await alone.exited).toBe(1);
    expect(alone.said.join('\n')).toContain(
      'OPENAISLE_DATABASE_CONNECTIONS must be at least 6 with OPENAISLE_WORKERS 1',
    );
  });

  it('no connection is refused under load, nor when processes are killed, and no request but those in flight at a kill', async () => {
    const markets = await Promise.all([startHost(0), startHost(1)]);
    const servingOn = (market: MainProcess) => market.lines('market_listening');
    await expect.poll(() => markets.map((market) => servingOn(market).length), patiently).toEqual([WORKERS, WORKERS]);
    const seller = await seedMerchant(database);
    const { id } = await seedListing(database, seller.id);

    let [done, most, isOn] = [0, 0, true];
    const refused: unknown[] = [];
    const broken: unknown[] = [];
    const comment = async (nth: number): Promise<void> => {
      const key = makeMerchantKey(systemRandom, 'aisle');
      const merchant = await seedMerchant(database);
      await database.run(sql`insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at)
        values (${PEPPER.hash(key)}, 1, ${merchant.id}, now())`);
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' };
      for (let round = 0; isOn; round += 1) {
        const market = markets[(nth + round) % markets.length];
        const body = JSON.stringify({ listing_id: Number(id), body: `Words ${round} of ${merchant.handle}` });
        try {
          const answer = await fetch(`${market?.url}/api/comment`, { method: 'POST', headers, body });
          const said = await answer.text();
          if (answer.status === 201) done += 1;
          else refused.push([answer.status, said]);
        } catch (error) {
          broken.push(error);
        }
      }
    };
    const watch = async (): Promise<void> => {
      while (isOn) {
        most = Math.max(most, await connections());
        await systemClock.sleep(20);
      }
    };
    const load = Promise.all([watch(), ...Array.from({ length: CLIENTS }, (_, nth) => comment(nth))]);
    const goesOn = async (acts: number): Promise<void> => {
      const before = done;
      await expect.poll(() => done - before, patiently).toBeGreaterThan(acts);
    };
    await goesOn(300);
    expect(broken).toEqual([]);
    for (let kill = 1; kill <= 2; kill += 1) {
      for (const market of markets) {
        const victim = servingOn(market).at(-1);
        process.kill(Number(victim?.['pid']), 'SIGKILL');
      }
      await expect
        .poll(() => markets.map((market) => servingOn(market).length), patiently)
        .toEqual([WORKERS + kill, WORKERS + kill]);
      await goesOn(100);
    }
    isOn = false;
    await load;
    process.stdout.write(
      `connections: ${done} acts, at most ${most} connections, ${broken.length} broken off by kills\n`,
    );
    expect(refused).toEqual([]);
    expect((await postgres.readLog()).split('\n').filter((line) => REFUSED.test(line))).toEqual([]);
    expect(most).toBeLessThanOrEqual(2 * BUDGET + 1);
    expect(broken.length).toBeLessThan(6 * CLIENTS);
  });
});

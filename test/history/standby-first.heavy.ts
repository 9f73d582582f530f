import { afterAll, beforeAll, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { createKillSwitch, startKillPostgres } from '../support/kill-postgres.ts';
import { endLoad, startLoad } from '../support/kill-runs.ts';
import { type KillWorld, openKillWorld } from '../support/kill-world.ts';
import { openPostgresGround, type PostgresServer } from '../support/standby-postgres.ts';

/** Seed of the clients' actions. The test prints it; set it in the environment to replay a run. */
const SEED = Number(process.env['OPENAISLE_KILLS_SEED'] ?? systemRandom.bytes(4).readUInt32BE());
const OPENING_MS = 300_000;
const patiently = { timeout: 60_000, interval: 100 };
const SAMPLE_EVERY_MS = 100;
const ACKS = 40;
const SAMPLES_AT_REST = 50;
/** Connections of the host. Two workers take eight, and each needs one more to check the database hosts. */
const BUDGET = 12;

let scene: KillWorld;
let primary: PostgresServer;
const begun = new AsyncDisposableStack();
beforeAll(async () => {
  const ground = begun.adopt(await openPostgresGround(), (one) => one.drop());
  primary = await ground.startPrimary();
  await migrate(primary.url, MIGRATIONS);
  const standby = await primary.copyWhileRunning();
  await standby.startAsStandbyOf(primary, 'second');
  await primary.makeSynchronous('second');
  const hosts: string[] = [];
  for (const { url } of [standby, primary]) {
    const wire = begun.adopt(await startKillPostgres(url, createKillSwitch()), (one) => one.close());
    hosts.push(new URL(wire.url).host);
  }
  const database = begun.adopt(await openDatabase({ url: primary.url }), (one) => one.close());
  const { username, password } = new URL(primary.url);
  scene = await openKillWorld({
    openDatabase: async () => ({ url: primary.url, database, drop: async () => {} }),
    environment: {
      DATABASE_URL: `postgresql://${username}:${password}@${hosts.join(',')}/openaisle`,
      OPENAISLE_WORKERS: '2',
      OPENAISLE_DATABASE_CONNECTIONS: String(BUDGET),
    },
  });
  begun.defer(() => scene.stop());
}, OPENING_MS);
afterAll(() => begun.disposeAsync(), OPENING_MS);

async function countSessions(): Promise<number> {
  const [row] = await primary.ask<{ n: number }>(
    "select count(*)::int as n from pg_stat_activity where application_name = 'openaisle-market'",
  );
  return row?.n ?? 0;
}

function watchSessions() {
  const counts: number[] = [];
  let isOn = true;
  const watching = (async () => {
    while (isOn) {
      counts.push(await countSessions());
      await systemClock.sleep(SAMPLE_EVERY_MS);
    }
  })();
  const stop = async (): Promise<void> => {
    isOn = false;
    await watching;
  };
  return { counts, stop };
}

it(`a market whose list of hosts begins with the standby sells, and never has more sessions than its budget (OPENAISLE_KILLS_SEED=${SEED})`, async () => {
  const watch = watchSessions();
  const load = await startLoad(scene, SEED);
  await load.acknowledged(ACKS, patiently.timeout);
  const { faults } = await endLoad(scene, load);
  const underLoad = watch.counts.length;
  await expect.poll(() => watch.counts.length - underLoad, patiently).toBeGreaterThan(SAMPLES_AT_REST);
  await watch.stop();
  const most = Math.max(...watch.counts);
  process.stdout.write(
    `sessions with a standby first: seed ${SEED}, ${watch.counts.length} counts, at most ${most}, at the end ${watch.counts.at(-1)}\n`,
  );
  expect(faults).toEqual([]);
  expect(most).toBeLessThanOrEqual(BUDGET);
  expect(most).toBeGreaterThan(0);
}, 600_000);

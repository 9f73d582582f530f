import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { startEmbeddedPostgres } from '../../src/platform/database/embedded.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { rotatedRounds } from '../suite/rotation.ts';
import type { TestDatabase } from '../support/database.ts';
import { createDice } from '../support/dice.ts';
import { createKillSwitch, startKillPostgres } from '../support/kill-postgres.ts';
import { endLoad, startLoad } from '../support/kill-runs.ts';
import { type KillWorld, openKillWorld } from '../support/kill-world.ts';
import { killServer } from '../support/run-postgres.ts';

interface KillablePostgres extends TestDatabase {
  /** Kills the server and its child processes with SIGKILL and restarts it on the same data and address. */
  killAndRestart(): Promise<void>;
  drop(): Promise<void>;
}

/** Starts a server with the market's own durability settings, so it may lose nothing that it acknowledged. */
async function startKillablePostgres(): Promise<KillablePostgres> {
  const dataDir = await mkdtemp(join(tmpdir(), 'openaisle-killable-'));
  let postgres = await startEmbeddedPostgres({ dataDir });
  await migrate(postgres.url, MIGRATIONS);
  const wire = await startKillPostgres(postgres.url, createKillSwitch());
  const database = await openDatabase({ url: wire.url });
  return {
    url: wire.url,
    database,
    killAndRestart: async () => {
      await killServer(join(dataDir, 'postgres', 'cluster'));
      await postgres.exited;
      await postgres.stop();
      postgres = await startEmbeddedPostgres({ dataDir });
      wire.leadTo(postgres.url);
    },
    drop: async () => {
      await database.close();
      await wire.close();
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

const KILLS = Number(process.env['OPENAISLE_KILLS'] ?? rotatedRounds(import.meta.filename, 8));
/** Decides when the database dies and what the clients do. The test prints it; set it in the environment to replay a run. */
const SEED = Number(process.env['OPENAISLE_KILLS_SEED'] ?? systemRandom.bytes(4).readUInt32BE());
/** Generous, because the machine may be busy. */
const OPENING_MS = 600_000;
const [SHORTEST_MS, LONGEST_MS] = [50, 600];
const BACK_MS = 180_000;

let postgres: KillablePostgres;
let scene: KillWorld;
beforeAll(async () => {
  postgres = await startKillablePostgres();
  scene = await openKillWorld({ openDatabase: async () => postgres });
}, OPENING_MS);
afterAll(() => scene?.stop());

it(`${KILLS} times kill -9 of PostgreSQL under a busy market, which lives: nothing acknowledged is lost, nothing is doubled (OPENAISLE_KILLS_SEED=${SEED})`, async () => {
  const dice = createDice(SEED);
  const load = await startLoad(scene, SEED + 1);
  for (let killed = 1; killed <= KILLS; killed += 1) {
    await systemClock.sleep(SHORTEST_MS + dice.number(LONGEST_MS - SHORTEST_MS + 1));
    await postgres.killAndRestart();
    await load.acknowledged(1, BACK_MS);
  }
  const underFire = scene.acks.size();
  const { faults, errands } = await endLoad(scene, load);
  const told = JSON.stringify(scene.acks.counts());
  process.stdout.write(
    `kills of PostgreSQL: seed ${SEED}, ${KILLS} kills, ${underFire} acknowledged meanwhile, ${errands} errands, ${told}\n`,
  );
  expect(faults).toEqual([]);
  expect(scene.market.deaths()).toBe(0);
  expect(underFire).toBeGreaterThan(KILLS);
}, 1_800_000);

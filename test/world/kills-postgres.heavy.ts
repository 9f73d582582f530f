import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { rotatedRounds } from '../suite/rotation.ts';
import { createDice } from '../support/dice.ts';
import { endLoad, startLoad } from '../support/kill-runs.ts';
import { type KillWorld, openKillWorld } from '../support/kill-world.ts';
import { type KillablePostgres, startKillablePostgres } from '../support/killable-postgres.ts';

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

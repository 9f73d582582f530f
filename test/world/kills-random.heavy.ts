import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { rotatedRounds } from '../suite/rotation.ts';
import { createDice } from '../support/dice.ts';
import { endLoad, startLoad } from '../support/kill-runs.ts';
import { type KillWorld, openKillWorld } from '../support/kill-world.ts';

const KILLS = Number(process.env['OPENAISLE_KILLS'] ?? rotatedRounds(import.meta.filename, 15));
/** Decides when the market dies and what its clients do. The test prints it; set it in the environment to replay a run. */
const SEED = Number(process.env['OPENAISLE_KILLS_SEED'] ?? systemRandom.bytes(4).readUInt32BE());
/** Generous, because the machine may be busy. */
const OPENING_MS = 600_000;
const [SHORTEST_MS, LONGEST_MS] = [30, 400];

const ALIVE_MS = 180_000;

let scene: KillWorld;
beforeAll(async () => {
  scene = await openKillWorld();
}, OPENING_MS);
afterAll(() => scene?.stop());

it(`${KILLS} times kill -9 of a busy market: nothing acknowledged is lost, nothing is doubled (OPENAISLE_KILLS_SEED=${SEED})`, async () => {
  const dice = createDice(SEED);
  const load = await startLoad(scene, SEED + 1);
  for (let killed = 1; killed <= KILLS; killed += 1) {
    const market = await scene.market.current();
    // Every second market has served a request; the others may die as soon as they listen.
    if (killed % 2 === 0) await load.acknowledged(1, ALIVE_MS);
    await systemClock.sleep(SHORTEST_MS + dice.number(LONGEST_MS - SHORTEST_MS + 1));
    market.kill();
    await scene.market.died(killed, ALIVE_MS);
  }
  const underFire = scene.acks.size();
  const { faults, errands } = await endLoad(scene, load);
  const told = JSON.stringify(scene.acks.counts());
  process.stdout.write(
    `random kills: seed ${SEED}, ${KILLS} kills, ${underFire} acknowledged meanwhile, ${errands} errands, ${told}\n`,
  );
  expect(faults).toEqual([]);
  expect(scene.market.deaths()).toBe(KILLS);
  // A run without acknowledged requests would prove nothing.
  expect(underFire).toBeGreaterThanOrEqual(Math.floor(KILLS / 2));
}, 1_800_000);

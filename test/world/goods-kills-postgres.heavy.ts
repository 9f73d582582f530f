import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { rotatedRounds } from '../suite/rotation.ts';
import { createDice } from '../support/dice.ts';
import type { Flow, KillFlow } from '../support/kill-flows.ts';
import { deleteUpload, uploadAndList, uploadWithChecksums } from '../support/kill-flows-uploads.ts';
import { type KillWorld, openKillWorld } from '../support/kill-world.ts';
import { type KillablePostgres, startKillablePostgres } from '../support/killable-postgres.ts';
import type { Member } from '../support/market-world.ts';

const KILLS = Number(process.env['OPENAISLE_KILLS'] ?? rotatedRounds(import.meta.filename, 8));
/** Decides when the database dies. The test prints it; set it in the environment to replay a run. */
const SEED = Number(process.env['OPENAISLE_KILLS_SEED'] ?? systemRandom.bytes(4).readUInt32BE());
/** Generous, because the machine may be busy. */
const OPENING_MS = 600_000;
const [SHORTEST_MS, LONGEST_MS] = [20, 400];
const BACK_MS = 180_000;

let postgres: KillablePostgres;
let scene: KillWorld;
beforeAll(async () => {
  postgres = await startKillablePostgres();
  scene = await openKillWorld({ openDatabase: async () => postgres });
}, OPENING_MS);
afterAll(() => scene?.stop());

it(`${KILLS} times kill -9 of PostgreSQL under uploads: nothing acknowledged is lost, nothing is left behind (OPENAISLE_KILLS_SEED=${SEED})`, async () => {
  const dice = createDice(SEED);
  const [first, second] = [await scene.member(), await scene.member()];
  const done: KillFlow[] = [];
  let isOn = true;
  const repeat = async (member: Member, ...flows: readonly Flow[]): Promise<void> => {
    for (let nth = 0; isOn; nth += 1) {
      const flow = flows[nth % flows.length];
      if (flow === undefined) throw new RangeError('no flow');
      const errand = await flow({ ...scene, member: async () => member }, nth);
      await errand.act();
      done.push(errand);
    }
  };
  const clients = Promise.allSettled([
    repeat(scene.keeper, uploadAndList, uploadWithChecksums),
    repeat(first, deleteUpload),
    repeat(second, deleteUpload),
  ]);
  for (let killed = 1; killed <= KILLS; killed += 1) {
    await systemClock.sleep(SHORTEST_MS + dice.number(LONGEST_MS - SHORTEST_MS + 1));
    await postgres.killAndRestart();
    const before = done.length;
    await expect.poll(() => done.length, { timeout: BACK_MS, interval: 20 }).toBeGreaterThan(before);
  }
  isOn = false;
  expect((await clients).filter(({ status }) => status === 'rejected')).toEqual([]);
  process.stdout.write(`kills of PostgreSQL under uploads: seed ${SEED}, ${KILLS} kills, ${done.length} uploads\n`);
  for (const { check } of done) await check();
  expect(await scene.finish()).toEqual([]);
  expect(scene.market.deaths()).toBe(0);
}, 1_800_000);

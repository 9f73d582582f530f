/**
 * Random runs of sales over both sites, with a chain that takes back blocks, a wire that lies and a city that is started again; each act
 * is held against a reference that is small enough to be read. A failing run is shown as short as it could be made, with its seed and
 * path; the same run again:
 *
 *   OPENAISLE_THING_SEED=... OPENAISLE_THING_PATH=... npx vitest run --project heavy test/world/thing-model.heavy.ts
 *
 * OPENAISLE_THING_RUNS plays another number of them.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rotatedRounds } from '../suite/rotation.ts';
import { play, readGame } from '../world-model/play.ts';
import { openStage, type Stage } from '../world-model/stage.ts';

/** From this number on every outcome below is met. */
const ALL_RUNS = 60;
const RUNS = rotatedRounds(import.meta.filename, ALL_RUNS);
/** A game that never came to one of these would prove little. */
const PLAYED = [
  'reserve: 201',
  'reserve: 409 offer_reserved',
  'claim: 202 payment_pending',
  'sync honest: 200 completed',
];

let stage: Stage;
beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage.stop());

it('a thing is sold once, by a final transfer, on both sites or on none', async () => {
  const game = readGame(process.env, { runs: RUNS });
  process.stdout.write(`thing model: seed ${game.seed}, ${game.runs} runs\n`);
  await play(stage, game);
  if (game.path === null && game.runs >= ALL_RUNS)
    expect([...stage.tally.keys()]).toEqual(expect.arrayContaining(PLAYED));
}, 1_800_000);

/**
 * Random sales over both sites, with reorgs, lying connections and restarts of the city. Each operation is compared with a small reference
 * model. A failing run is shrunk and printed with its seed and path. To replay it: OPENAISLE_THING_SEED=... OPENAISLE_THING_PATH=... npx
 * vitest run --project heavy test/world/thing-model.heavy.ts. OPENAISLE_THING_RUNS sets the number of runs.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rotatedRounds } from '../suite/rotation.ts';
import { play, readGame } from '../world-model/play.ts';
import { openStage, type Stage } from '../world-model/stage.ts';

/** At this number of runs, every outcome below occurs. */
const ALL_RUNS = 60;
const RUNS = rotatedRounds(import.meta.filename, ALL_RUNS);
/** Outcomes that must occur, because the runs would otherwise prove little. */
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

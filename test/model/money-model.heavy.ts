/**
 * Random runs of buyers, sellers, a chain that removes blocks and a market that dies. Every answer is compared with a small, readable
 * reference. A failing run is shrunk and shown with its seed, path and replay path. To replay it (a shrunk one needs the replay path):
 *
 *   OPENAISLE_MODEL_SEED=... OPENAISLE_MODEL_PATH=... OPENAISLE_MODEL_REPLAY=... npx vitest run --project heavy test/model/money-model.heavy.ts
 *
 * OPENAISLE_MODEL_RUNS sets the number of runs. The auditor runs after many of them. OPENAISLE_MODEL_AUDIT_EVERY=1 runs it after each: with
 * the seed of a game in which it found a fault, that run is shrunk too.
 */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { rotatedRounds } from '../suite/rotation.ts';
import { play, readGame } from './play.ts';
import { openStage, type Stage } from './stage.ts';

/** At this number of runs, every outcome below occurs. */
const ALL_RUNS = 300;
const RUNS = rotatedRounds(import.meta.filename, ALL_RUNS);
/** Outcomes that must occur, because the runs would otherwise prove little. */
const PLAYED = [
  'POST buy: delivered',
  'POST buy: pending',
  'POST buy: payment_required',
  'POST claim: delivered',
  'POST claim: pending',
  'POST claim: transfer_not_found',
  'POST claim: payment_undecided',
  'POST claim: already_bought',
  'POST listing: listed',
  'POST review: done',
];

/** Two stages run in parallel, since each waits for its chain half of the time. */
let stages: readonly Stage[] = [];
beforeAll(async () => {
  stages = await Promise.all([openStage(), openStage()]);
});
afterAll(async () => {
  for (const stage of stages) await stage.stop();
});

it('answers and books of random runs are those of the reference, and the auditor agrees', async () => {
  const game = readGame(process.env, { runs: RUNS, auditEvery: 50 });
  // A given run is replayed alone.
  const played = game.path === null ? stages : stages.slice(0, 1);
  const results = await Promise.allSettled(
    played.map((stage, nth) => {
      const part = { ...game, seed: game.seed + nth, runs: Math.ceil(game.runs / played.length) };
      process.stdout.write(`model: seed ${part.seed}, ${part.runs} runs\n`);
      return play(stage, part);
    }),
  );
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  const said = new Set(stages.flatMap(({ tally }) => [...tally.keys()]));
  if (game.path === null && game.runs >= ALL_RUNS) expect([...said]).toEqual(expect.arrayContaining(PLAYED));
}, 1_800_000);

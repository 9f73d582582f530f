/** Runs test/world/thing-model.heavy.ts with many more runs. Its notes on replaying a run apply here. */
import { expect, it } from 'vitest';
import { play, readGame } from '../world-model/play.ts';
import { openStage } from '../world-model/stage.ts';

const RUNS = 5_000;
/** Number of runs after which a stage is replaced, because anvil keeps every state it ever had. */
const RUNS_PER_STAGE = 500;

it('a thing is sold once, by a final transfer, on both sites or on none', async () => {
  const game = readGame(process.env, { runs: RUNS });
  const tally = new Map<string, number>();
  let played = 0;
  for (let stages = 0; played < game.runs; stages += 1) {
    const seed = game.seed + stages;
    process.stdout.write(`thing model: seed ${seed}, ${played} of ${game.runs} runs played\n`);
    const stage = await openStage();
    try {
      played += await play(stage, { ...game, seed, runs: Math.min(RUNS_PER_STAGE, game.runs - played) });
      for (const [said, times] of stage.tally) tally.set(said, (tally.get(said) ?? 0) + times);
    } finally {
      await stage.stop();
    }
    // Replay a given run only once.
    if (game.path !== null) break;
  }
  const lines = [...tally].sort().map(([said, times]) => `${times} ${said}`);
  process.stdout.write(`thing model: ${played} runs\n${lines.join('\n')}\n`);
  expect(played).toBeGreaterThan(0);
});

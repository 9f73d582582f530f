import type { OpenHost } from '../model/market-host.ts';
import { play, readGame } from '../model/play.ts';
import { openStage } from '../model/stage.ts';

/** Number of runs after which a stage is replaced, because anvil keeps every state it ever had. */
const RUNS_PER_STAGE = 500;

/** Total number of runs of `npm run test:deep`. */
export const RUNS = Number(process.env['OPENAISLE_MODEL_RUNS'] ?? 10_000);

/** Runs many games, stage after stage, each with its own printed seed. `apart` separates the seeds of two files. */
export async function playMany(openHost: OpenHost, runs: number, apart = 0): Promise<number> {
  const game = readGame(process.env, { runs, auditEvery: 100 });
  let played = 0;
  const tally = new Map<string, number>();
  for (let stages = 0; played < runs; stages += 1) {
    const seed = game.seed + apart + stages;
    process.stdout.write(`model: seed ${seed}, ${played} of ${runs} runs played\n`);
    const stage = await openStage(openHost);
    try {
      const part = { ...game, seed, runs: Math.min(RUNS_PER_STAGE, runs - played) };
      played += (await play(stage, part)).runs;
      for (const [said, times] of stage.tally) tally.set(said, (tally.get(said) ?? 0) + times);
    } finally {
      await stage.stop();
    }
    // Replay a given run only once.
    if (game.path !== null) break;
  }
  const lines = [...tally].sort().map(([said, times]) => `${times} ${said}`);
  process.stdout.write(`model: ${played} runs\n${lines.join('\n')}\n`);
  return played;
}

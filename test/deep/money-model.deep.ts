/** test/model/money-model.test.ts with many more runs; what is said there on replaying a run holds here as well. */
import { expect, it } from 'vitest';
import { hostInChild } from '../model/host-in-child.ts';
import { hostHere, type OpenHost } from '../model/market-host.ts';
import { play } from '../model/play.ts';
import { readGame } from '../model/read-game.ts';
import { openStage } from '../model/stage.ts';

/** The chain keeps every state that it ever had, so a stage is not for ever. */
const RUNS_PER_STAGE = 500;
/** A process starts a hundred times slower than a market in this one. */
const RUNS_PER_RUN_IN_A_CHILD = 50;

async function playAll(openHost: OpenHost, runs: number): Promise<number> {
  const game = readGame(process.env, { runs, auditEvery: 100 });
  let played = 0;
  const tally = new Map<string, number>();
  for (let stages = 0; played < runs; stages += 1) {
    const seed = game.seed + stages;
    process.stdout.write(`model: seed ${seed}, ${played} of ${runs} runs played\n`);
    const stage = await openStage(openHost);
    try {
      const part = { ...game, seed, runs: Math.min(RUNS_PER_STAGE, runs - played) };
      played += (await play(stage, part)).runs;
      for (const [said, times] of stage.tally) tally.set(said, (tally.get(said) ?? 0) + times);
    } finally {
      await stage.stop();
    }
    // A named run is played once.
    if (game.path !== null) break;
  }
  const lines = [...tally].sort().map(([said, times]) => `${times} ${said}`);
  process.stdout.write(`model: ${played} runs\n${lines.join('\n')}\n`);
  return played;
}

const asked = Number(process.env['OPENAISLE_MODEL_RUNS'] ?? 10_000);

it('the market does what the reference says', async () => {
  expect(await playAll(hostHere, asked)).toBeGreaterThan(0);
});

it('and so does one in a process of its own, which is killed for real', async () => {
  expect(await playAll(hostInChild, Math.ceil(asked / RUNS_PER_RUN_IN_A_CHILD))).toBeGreaterThan(0);
});

import { randomInt } from 'node:crypto';
import * as fc from 'fast-check';
import { Sweep } from './acts/look.ts';
import { Cancel } from './acts/sell.ts';
import { Sync } from './acts/sync.ts';
import { Mine, Wait } from './acts/trouble.ts';
import { aFewActs, type Plan } from './choose-acts.ts';
import { fault } from './reference.ts';
import { Run } from './run.ts';
import { FINALITY_BLOCKS, type Stage } from './stage.ts';

interface Game {
  runs: number;
  seed: number;
  path: string | null;
}

/** Runs the game on one stage. Throws with the shortest failing run found. */
export async function play(stage: Stage, { runs, seed, path }: Game): Promise<number> {
  let played = 0;
  const property = fc.asyncProperty(aFewActs(), async (plan) => {
    played += 1;
    await playOne(stage, played, plan);
  });
  await fc.assert(property, { numRuns: runs, seed, ...(path === null ? {} : { path }) });
  return played;
}

async function playOne(stage: Stage, no: number, { things, acts }: Plan): Promise<void> {
  const run = await Run.begin(stage, { no, things });
  for (const act of acts) {
    act.hasRun = true;
    await act.run(run);
  }
  await endRun(run);
  run.keepTransfers();
}

/** Makes everything final and expired and lets both sites check. After that, each thing is sold, or its offer and listing are canceled. */
async function endRun(run: Run): Promise<void> {
  for (const seconds of [1, 301, 7_205]) {
    await new Wait({ seconds }).run(run);
    await new Mine({ blocks: FINALITY_BLOCKS }).run(run);
    await new Sweep({}).run(run);
  }
  for (const [nth, lot] of run.lots.entries()) {
    if (isUndecided(lot.seen.offer.phase)) fault(`it is ${lot.seen.offer.phase} for ever`);
    if (lot.seen.offer.phase !== 'claimed') await new Cancel({ lot: nth, bySeller: true }).run(run);
    await new Sync({ lot: nth, times: 2, wire: 'honest', by: null }).run(run);
    lot.reference.judgeEnd(lot.seen);
  }
}

const isUndecided = (phase: string): boolean => phase === 'reserved' || phase === 'payment_pending';

/** Reads the game from the environment. Without a seed there, each game is a new one. */
export function readGame(env: NodeJS.ProcessEnv, usual: Pick<Game, 'runs'>): Game {
  return {
    runs: Number(env['OPENAISLE_THING_RUNS'] ?? usual.runs),
    seed: Number(env['OPENAISLE_THING_SEED'] ?? randomInt(2 ** 31)),
    path: env['OPENAISLE_THING_PATH'] ?? null,
  };
}

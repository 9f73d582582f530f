import { randomInt } from 'node:crypto';
import * as fc from 'fast-check';
import { aFewActs } from './choose-acts.ts';
import { Run } from './run.ts';
import type { Stage } from './stage.ts';

interface Game {
  runs: number;
  seed: number;
  path: string | null;
  replayPath: string | null;
  /** Number of runs between two audits of the books against the chain. */
  auditEvery: number;
}

/** Runs the game on one stage. Throws with the shortest failing run found. */
export async function play(stage: Stage, game: Game): Promise<{ runs: number }> {
  let runs = 0;
  let told = false;
  // Report the first failure too, because the shrunk run may fail for another reason.
  const reportFirst = (failure: Error | null): void => {
    if (!told) process.stdout.write(`model: run ${runs} failed first: ${failure?.stack}\n`);
    told = true;
  };
  const property = fc.asyncProperty(aFewActs(game.replayPath), async (acts) => {
    runs += 1;
    const run = await Run.begin(stage, runs);
    const failure = await failureOf(() => fc.asyncModelRun(() => ({ model: run.reference, real: run }), acts));
    // Close everything even after a failure, so that the next run, perhaps a shorter version of this one, finds nothing open.
    const second = await failureOf(() => run.quiesce());
    if (failure !== null || second !== null) {
      reportFirst(failure ?? second);
      throw failure ?? second;
    }
    await run.compareBooks();
    if (runs % game.auditEvery === 0) await mustAgree(stage);
  });
  const { path } = game;
  await fc.assert(property, { numRuns: game.runs, seed: game.seed, ...(path === null ? {} : { path }) });
  await mustAgree(stage);
  return { runs };
}

async function failureOf(act: () => Promise<void>): Promise<Error | null> {
  try {
    await act();
    return null;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

async function mustAgree(stage: Stage): Promise<void> {
  const faults = await stage.audit();
  if (faults.length > 0) throw new Error(`books and chain differ:\n${faults.join('\n')}`);
}

/** Reads the game from the environment. Without a seed there, each game is a new one. */
export function readGame(env: NodeJS.ProcessEnv, usual: Pick<Game, 'runs' | 'auditEvery'>): Game {
  return {
    runs: Number(env['OPENAISLE_MODEL_RUNS'] ?? usual.runs),
    seed: Number(env['OPENAISLE_MODEL_SEED'] ?? randomInt(2 ** 31)),
    path: env['OPENAISLE_MODEL_PATH'] ?? null,
    replayPath: env['OPENAISLE_MODEL_REPLAY'] ?? null,
    auditEvery: Number(env['OPENAISLE_MODEL_AUDIT_EVERY'] ?? usual.auditEvery),
  };
}

import type { Run } from './pursuit.ts';
import { reportProgress } from './take-turn.ts';

/** Nothing is left to wait for: the proof is forgotten. */
export async function finishRun(run: Run): Promise<void> {
  await run.store.clear(run.storeKey);
  reportProgress(run, 'delivered');
}

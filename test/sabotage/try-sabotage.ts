import type { Copies } from './make-copies.ts';
import { type Running, runTests, type TestRun } from './run-tests.ts';
import type { Sabotage } from './sabotage.ts';

/** `stale`: what it replaces is not there any more. `broken`: nothing ran as it should, so nothing noticed anything. */
export type Outcome = 'caught' | 'missed' | 'broken' | 'stale';

export interface Tried {
  name: string;
  outcome: Outcome;
  /** The test that noticed it; else what stood in the way, if anything did. */
  by: string | null;
  seconds: number;
}

/** A test notices a bug by an expectation that does not hold, not by code that cannot run. */
const BY_EXPECTATION =
  /^(?:AssertionError\b|Error: (?:promise (?:resolved|rejected) |expected |Property failed after ))/;

export async function trySabotage(copies: Copies, sabotage: Sabotage, running: Running): Promise<Tried> {
  const { name } = sabotage;
  const folder = await copies.sabotaged(sabotage);
  if (folder === null) return { name, outcome: 'stale', by: null, seconds: 0 };
  try {
    return judgeRun(name, await runTests(folder, sabotage.tests, running));
  } finally {
    await copies.drop(folder);
  }
}

export function judgeRun(name: string, { passed, failures, trouble, seconds }: TestRun): Tried {
  const noticed = failures.find(({ said }) => BY_EXPECTATION.test(said));
  if (noticed !== undefined) return { name, outcome: 'caught', by: noticed.test, seconds };
  const [failure] = failures;
  const why = failure === undefined ? trouble[0] : `${failure.test}: ${failure.said}`;
  if (why !== undefined) return { name, outcome: 'broken', by: why, seconds };
  return { name, outcome: passed > 0 ? 'missed' : 'broken', by: null, seconds };
}

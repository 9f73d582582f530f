import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Copies } from './make-copies.ts';
import type { Sabotage } from './sabotage.ts';

/** A test that failed, and what it said first. */
export interface Failure {
  test: string;
  said: string;
}

interface TestRun {
  /** How many tests passed. */
  passed: number;
  failures: Failure[];
  /** Files that could not be run to their end, and what became of the run itself; empty for a run as it should be. */
  trouble: string[];
  seconds: number;
}

interface Report {
  numPassedTests: number;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
  }[];
}

interface Running {
  databaseUrl: string;
  workers: number;
  bail: boolean;
  /** Longer than such a run takes, a hanging test included. */
  deadlineMs: number;
  signal: AbortSignal;
}

/** Runs test files of a copy in processes of their own, and reads what came of it. */
export async function runTests(folder: string, files: readonly string[], running: Running): Promise<TestRun> {
  const began = performance.now();
  const reportFile = join(folder, 'report.json');
  const vitest = join(folder, 'node_modules', 'vitest', 'vitest.mjs');
  const given = [
    'run',
    '--project=quick',
    '--testTimeout=90000',
    '--reporter=json',
    `--outputFile=${reportFile}`,
    `--maxWorkers=${running.workers}`,
    ...files,
  ];
  const child = spawn(process.execPath, [vitest, ...given, ...(running.bail ? ['--bail=1'] : [])], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: running.databaseUrl },
    stdio: ['ignore', 'ignore', 'pipe'],
    // A group of its own, so that chains and servers of the tests end with it.
    detached: true,
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-2_000);
  });
  const ended = new AbortController();
  const stop = AbortSignal.any([running.signal, AbortSignal.timeout(running.deadlineMs)]);
  const kill = (): void => endGroup(child.pid);
  stop.addEventListener('abort', kill, { signal: ended.signal });
  await once(child, 'close');
  ended.abort();
  endGroup(child.pid);
  const seconds = (performance.now() - began) / 1000;
  if (stop.aborted) return { passed: 0, failures: [], trouble: ['the run did not end in time'], seconds };
  const text = await readFile(reportFile, 'utf8').catch(() => null);
  if (text === null) return { passed: 0, failures: [], trouble: [errors], seconds };
  return { ...readReport(JSON.parse(text) as Report), seconds };
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // Nobody is left in it.
  }
}

function readReport({ numPassedTests, testResults }: Report): Omit<TestRun, 'seconds'> {
  const failures = testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => ({ test: fullName, said: failureMessages[0]?.split('\n')[0] ?? '' })),
  );
  // A file fails without a failing test when it cannot be imported, or when what comes before its tests fails.
  const trouble = testResults
    .filter(
      ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((one) => one.status === 'failed'),
    )
    .map(({ name, message }) => `${name}: ${message.split('\n')[0]}`);
  return { passed: numPassedTests, failures, trouble };
}

/** `stale`: what it replaces is not there any more. `broken`: nothing ran as it should, so nothing noticed anything. */
type Outcome = 'caught' | 'missed' | 'broken' | 'stale';

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

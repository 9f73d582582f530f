import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Copies } from './make-copies.ts';
import type { Sabotage } from './sabotage.ts';

export interface Failure {
  test: string;
  said: string;
}

interface TestRun {
  passed: number;
  failures: Failure[];
  /** Files that did not finish, and errors of the run itself. Empty for a normal run. */
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
  /** Timeout in milliseconds. Longer than such a run takes, even with a hanging test. */
  deadlineMs: number;
  signal: AbortSignal;
}

/** Runs test files of a copy in separate processes and reads the results. */
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
    // The run gets its own process group, so that chains and servers of the tests are ended with it.
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
    // The process group is already empty.
  }
}

function readReport({ numPassedTests, testResults }: Report): Omit<TestRun, 'seconds'> {
  const failures = testResults.flatMap(({ assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === 'failed')
      .map(({ fullName, failureMessages }) => ({ test: fullName, said: failureMessages[0]?.split('\n')[0] ?? '' })),
  );
  // A file fails without a failing test if its import or its setup fails.
  const trouble = testResults
    .filter(
      ({ status, assertionResults }) => status === 'failed' && !assertionResults.some((one) => one.status === 'failed'),
    )
    .map(({ name, message }) => `${name}: ${message.split('\n')[0]}`);
  return { passed: numPassedTests, failures, trouble };
}

/** `stale` means that the text to replace is gone. `broken` means that the run failed, so it proves nothing. */
type Outcome = 'caught' | 'missed' | 'broken' | 'stale';

export interface Tried {
  name: string;
  outcome: Outcome;
  /** Test that noticed the bug, or what prevented the run. Null if nothing did. */
  by: string | null;
  seconds: number;
}

/** Matches errors of a failed expectation, which count as noticing a bug. Code that cannot run does not count. */
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

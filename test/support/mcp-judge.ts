import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PACKAGES = new URL('../../node_modules/@modelcontextprotocol/', import.meta.url);
/** None takes a fifth of it; what hangs is killed, and its test fails. */
const LONGEST_MS = 60_000;

export interface JudgeRun {
  /** Null: it was killed. */
  code: number | null;
  seconds: number;
  stdout: string;
  stderr: string;
}

/** Told every line that is printed. Where it fails, the program is ended and the failure is the run's. */
export type OnLine = (line: string) => Promise<void>;

/** One of the protocol's own programs, with a home of its own and nothing of our environment. */
export async function runJudge(
  script: string,
  args: readonly string[],
  { home, onLine }: { home: string; onLine?: OnLine },
): Promise<JudgeRun> {
  const begun = performance.now();
  const child = spawn(process.execPath, [fileURLToPath(new URL(script, PACKAGES)), ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, NO_COLOR: '1' },
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const told: Promise<void>[] = [];
  const failures: unknown[] = [];
  const failed = (failure: unknown): void => {
    failures.push(failure);
    child.kill('SIGKILL');
  };
  if (onLine !== undefined) {
    createInterface({ input: child.stdout }).on('line', (line) => void told.push(onLine(line).catch(failed)));
  }
  const [code] = (await once(child, 'close')) as [number | null];
  await Promise.all(told);
  if (failures.length > 0) throw failures[0];
  return { code, seconds: (performance.now() - begun) / 1_000, stdout, stderr };
}

import type { ChildProcess } from 'node:child_process';
import { systemClock } from './clock.ts';
import { printableJson, printableLines } from './printable.ts';

/** Whether any process has that id. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

export function hasEnded(child: ChildProcess): boolean {
  return child.pid === undefined || child.exitCode !== null || child.signalCode !== null;
}

/** Resolves when it has ended, also where it never began. */
export function endOf(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}

/** Resolves when it has ended, or after so long. */
export async function endWithin(exited: Promise<void>, patienceMs: number): Promise<void> {
  const impatient = new AbortController();
  await Promise.race([exited, systemClock.sleep(patienceMs, impatient.signal)]);
  impatient.abort();
}

/** For the operator: what is in the way, in words. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused';
}

/** Runs an operator's command to its end: a failure is said on the error output, as JSON where that was asked for, and is exit code 1 or another. */
export async function runCommand(main: () => Promise<void>, wordsOf = messageOf, failed = 1): Promise<void> {
  try {
    await main();
  } catch (error) {
    const message = wordsOf(error);
    process.stderr.write(
      process.argv.includes('--json')
        ? `${printableJson({ status: 'failed', error: message })}\n`
        : `${printableLines(message)}\n`,
    );
    process.exitCode = failed;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A variable of the environment; null where it is unset or empty. */
export function setting(name: string): string | null {
  const value = process.env[name];
  return value === undefined || value === '' ? null : value;
}

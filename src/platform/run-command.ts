import type { ChildProcess } from 'node:child_process';
import { systemClock } from './clock.ts';
import { printableJson, printableLines } from './printable.ts';

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

/** Resolves when the process has exited or could not be started. */
export function waitForExit(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}

/** Resolves when the process has exited, or after `patienceMs`. */
export async function waitForExitWithin(exited: Promise<void>, patienceMs: number): Promise<void> {
  const impatient = new AbortController();
  await Promise.race([exited, systemClock.sleep(patienceMs, impatient.signal)]);
  impatient.abort();
}

/** Thrown to tell the operator why a command cannot run. */
export class CommandRefused extends Error {
  override readonly name = 'CommandRefused';
}

/** Runs an operator's command. Prints a failure on standard error, as JSON with --json, and sets the exit code. */
export async function runCommand(main: () => Promise<void>, describe = messageOf, failed = 1): Promise<void> {
  try {
    await main();
  } catch (error) {
    const message = describe(error);
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

/** Reads an environment variable. Null if unset or empty. */
export function readSetting(name: string): string | null {
  const value = process.env[name];
  return value === undefined || value === '' ? null : value;
}

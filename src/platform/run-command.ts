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
      process.argv.includes('--json') ? `${JSON.stringify({ status: 'failed', error: message })}\n` : `${message}\n`,
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

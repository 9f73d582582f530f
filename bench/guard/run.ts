import { writeFile } from 'node:fs/promises';
import { measureGuard } from './measure-guard.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { reportText } from './report.ts';

const begin = performance.now();
const tell = (line: string): void =>
  void process.stderr.write(`[${((performance.now() - begin) / 1_000).toFixed(1).padStart(6)} s] ${line}\n`);

/** A wrong option is said in one line; where in this program it was found is of no interest. */
function wantedOptions(): Options | null {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}

async function measure(options: Options, signal: AbortSignal, begun: AsyncDisposableStack): Promise<void> {
  const outcome = await measureGuard(options, { begun, signal, tell });
  const json = `${JSON.stringify(outcome, null, 2)}\n`;
  process.stdout.write(options.json === '-' ? json : `\n${reportText(outcome)}`);
  if (options.json !== null && options.json !== '-') await writeFile(options.json, json);
}

async function main(): Promise<void> {
  const options = wantedOptions();
  if (options === null) {
    process.stdout.write(HELP);
    return;
  }
  const begun = new AsyncDisposableStack();
  const breaking = new AbortController();
  let running: Promise<void> = Promise.resolve();
  let stopped: Promise<void> | null = null;
  // Once for all who ask: a second disposal would be done at once, before the first one is.
  const stopAll = (): Promise<void> => {
    stopped ??= begun.disposeAsync();
    return stopped;
  };
  const breakOff = (why: string, code: number): void => {
    if (breaking.signal.aborted) return;
    breaking.abort(new Error(why));
    tell(`${why}: stopping what was started`);
    const ended = running.catch(() => {});
    void stopAll()
      .then(() => ended)
      .finally(() => process.exit(code));
  };
  process.on('SIGINT', () => breakOff('broken off', 130));
  process.on('SIGTERM', () => breakOff('broken off', 143));
  // PostgreSQL outlives a process that falls: whatever happens here, it has to be stopped.
  process.on('uncaughtException', (error) => breakOff(error.stack ?? error.message, 1));
  process.stdout.on('error', () => breakOff('nobody reads the outcome', 1));
  process.stderr.on('error', () => breakOff('nobody reads the progress', 1));
  try {
    running = measure(options, breaking.signal, begun);
    await running;
    tell('stopping');
  } catch (error) {
    // What was under way fails when its servers are stopped; that is not what went wrong.
    if (!breaking.signal.aborted) throw error;
  } finally {
    await stopAll();
  }
}

main().catch((error: unknown) => {
  if (process.exitCode === undefined) process.exitCode = 1;
  console.error(error instanceof Error && error.stack !== undefined ? error.stack : error);
});

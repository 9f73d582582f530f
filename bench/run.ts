import { readFile } from 'node:fs/promises';
import { measureBuys } from './buys.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { measureReads } from './reads.ts';
import { machineFacts, type Outcome, reportText, settingsOf } from './report.ts';
import { startWorld, type World } from './world.ts';

const begin = performance.now();
const secondsSoFar = (): number => (performance.now() - begin) / 1_000;
const tell = (line: string): void =>
  void process.stderr.write(`[${secondsSoFar().toFixed(1).padStart(5)} s] ${line}\n`);

async function measure(options: Options, world: World): Promise<Outcome> {
  const reads = await measureReads(world.marketUrl, options, tell);
  const buys = await measureBuys(world, tell);
  const complaints = (await Promise.all(world.logFiles.map(readComplaints))).flat();
  return { machine: machineFacts(), settings: settingsOf(options), reads, buys, complaints, seconds: secondsSoFar() };
}

/** What a server wrote above `info`, or in no form at all. */
async function readComplaints(logFile: string): Promise<string[]> {
  const lines = (await readFile(logFile, 'utf8')).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('{"level":"info"'));
}

/** A wrong option is said in one line; where in this program it was found is of no interest. */
function wantedOptions(): Options | null {
  try {
    return readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(2);
  }
}

async function main(): Promise<void> {
  const options = wantedOptions();
  if (options === null) {
    process.stdout.write(HELP);
    return;
  }
  const begun = new AsyncDisposableStack();
  let starting: Promise<unknown> = Promise.resolve();
  let stopped: Promise<void> | null = null;
  // Once for all who ask: a second disposal would be done at once, before the first one is.
  const stopAll = (): Promise<void> => {
    // What is just being started is stopped too: it comes into the stack when it runs.
    stopped ??= starting.catch(() => {}).then(() => begun.disposeAsync());
    return stopped;
  };
  const breaking = new AbortController();
  const breakOff = (why: string, code: number): void => {
    if (breaking.signal.aborted) return;
    breaking.abort(new Error(why));
    tell(`${why}: stopping what was started`);
    void stopAll().finally(() => process.exit(code));
  };
  process.on('SIGINT', () => breakOff('broken off', 130));
  process.on('SIGTERM', () => breakOff('broken off', 143));
  // PostgreSQL outlives a process that falls: whatever happens here, it has to be stopped.
  process.on('uncaughtException', (error) => breakOff(error.stack ?? error.message, 1));
  process.stdout.on('error', () => breakOff('nobody reads the outcome', 1));
  process.stderr.on('error', () => breakOff('nobody reads the progress', 1));
  try {
    const world = startWorld({ listings: options.listings, begun, signal: breaking.signal, tell });
    starting = world;
    const outcome = await measure(options, await world);
    process.stdout.write(options.json ? `${JSON.stringify(outcome)}\n` : `\n${reportText(outcome)}`);
    // Speed without right books is no result.
    if (outcome.buys.books.faults.length > 0) process.exitCode = 1;
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

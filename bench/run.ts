import { readFile } from 'node:fs/promises';
import { measureBuys } from './buys.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { measureReads } from './reads.ts';
import { machineFacts, type Outcome, reportText, settingsOf } from './report.ts';
import { startWorld } from './world.ts';

const begin = performance.now();
const secondsSoFar = (): number => (performance.now() - begin) / 1_000;
const tell = (line: string): void =>
  void process.stderr.write(`[${secondsSoFar().toFixed(1).padStart(5)} s] ${line}\n`);

async function measure(options: Options, begun: AsyncDisposableStack, signal: AbortSignal): Promise<Outcome> {
  const world = await startWorld({ listings: options.listings, begun, signal, tell });
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

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    process.stdout.write(HELP);
    return;
  }
  const begun = new AsyncDisposableStack();
  const breaking = new AbortController();
  const breakOff = (): void => {
    tell('broken off: stopping what was started');
    breaking.abort(new Error('broken off'));
    void begun.disposeAsync().finally(() => process.exit(130));
  };
  process.once('SIGINT', breakOff);
  process.once('SIGTERM', breakOff);
  try {
    const outcome = await measure(options, begun, breaking.signal);
    process.stdout.write(options.json ? `${JSON.stringify(outcome)}\n` : `\n${reportText(outcome)}`);
    // Speed without right books is no result.
    if (outcome.buys.books.faults.length > 0) process.exitCode = 1;
    tell('stopping');
  } finally {
    if (!breaking.signal.aborted) await begun.disposeAsync();
  }
}

main().catch((error: unknown) => {
  if (process.exitCode === undefined) process.exitCode = 1;
  console.error(error instanceof Error && error.stack !== undefined ? error.stack : error);
});

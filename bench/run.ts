import { measureBuys } from './buys.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { measureReads } from './reads.ts';
import { machineFacts, type Outcome, reportText, settingsOf } from './report.ts';
import { startWorld } from './world.ts';

const begin = performance.now();
const secondsSoFar = (): number => (performance.now() - begin) / 1_000;
const tell = (line: string): void =>
  void process.stderr.write(`[${secondsSoFar().toFixed(1).padStart(5)} s] ${line}\n`);

async function measure(options: Options, begun: AsyncDisposableStack): Promise<Outcome> {
  const world = await startWorld(begun, options.listings, tell);
  const { market, facilitator } = world;
  const reads = await measureReads(market.url, options, tell);
  const buys = await measureBuys(world, tell);
  const complaints = [...(await market.complaints()), ...(await facilitator.complaints())];
  return { machine: machineFacts(), settings: settingsOf(options), reads, buys, complaints, seconds: secondsSoFar() };
}

async function main(): Promise<void> {
  const options = readOptions(process.argv.slice(2));
  if (options === null) {
    process.stdout.write(HELP);
    return;
  }
  const begun = new AsyncDisposableStack();
  const breakOff = (): void => {
    tell('broken off: stopping what was started');
    void begun.disposeAsync().finally(() => process.exit(130));
  };
  process.once('SIGINT', breakOff);
  process.once('SIGTERM', breakOff);
  try {
    const outcome = await measure(options, begun);
    process.stdout.write(options.json ? `${JSON.stringify(outcome)}\n` : `\n${reportText(outcome)}`);
    // Speed without right books is no result.
    if (outcome.buys.books.faults.length > 0) process.exitCode = 1;
  } finally {
    tell('stopping');
    await begun.disposeAsync();
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error && error.stack !== undefined ? error.stack : error);
  process.exitCode = 1;
});

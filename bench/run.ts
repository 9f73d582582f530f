import { readFile } from 'node:fs/promises';
import { prepareForeignTransfers } from './foreign-transfers.ts';
import { measureFreeSales } from './free-sales.ts';
import { followHeads } from './heads.ts';
import { measurePurchases, type Purchases } from './measure-purchases.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { measureReads } from './reads.ts';
import { machineFacts, type Outcome, reportText, settingsOf } from './report.ts';
import { type Running, runBench, secondsSoFar } from './run-bench.ts';
import { startStockSeller } from './stock-seller.ts';
import { startWorld, type World } from './world.ts';

runBench<Options>({
  help: HELP,
  read: readOptions,
  measure: async (options, running) => {
    const world = await startWorld({ ...options, ...running });
    const reads = options.parts.includes('reads')
      ? await measureReads(world.side.marketUrl, options, running.tell)
      : null;
    const free = options.parts.includes('free') ? await measureFreeSales(world.side, options, running.tell) : null;
    const purchases = options.parts.includes('purchases') ? await measureBuying(options, world, running) : null;
    const complaints = (await Promise.all(world.side.logFiles.map(readComplaints))).flat();
    const outcome: Outcome = {
      ...{ machine: machineFacts(), settings: settingsOf(options), reads, free, purchases, complaints },
      seconds: secondsSoFar(),
    };
    process.stdout.write(options.json ? `${JSON.stringify(outcome)}\n` : `\n${reportText(outcome)}`);
    // A fast result with wrong books is a failure.
    if (purchases !== null && purchases.books.faults.length > 0) process.exitCode = 1;
  },
});

async function measureBuying(options: Options, world: World, running: Running): Promise<Purchases> {
  const { chain, side } = world;
  const stock = await startStockSeller({ ...world, ...running, goods: side.seeded.goods });
  const heads = await followHeads(chain, running.begun);
  const foreign = await prepareForeignTransfers(chain, heads, running.begun);
  return measurePurchases({ chain, side, stock, heads, foreign, tell: running.tell }, options);
}

/** Returns the log lines that are above `info` or malformed. */
async function readComplaints(logFile: string): Promise<string[]> {
  const lines = (await readFile(logFile, 'utf8')).split('\n');
  return lines.filter((line) => line !== '' && !line.startsWith('{"level":"info"'));
}

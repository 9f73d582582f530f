import { startBoundsWorld } from '../../test/support/bounds/bounds-world.ts';
import { type Running, runBench } from '../run-bench.ts';
import { measureHonest } from './measure-honest.ts';
import { measureTable, tooDear } from './measure-table.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { type Outcome, reportText } from './report.ts';

async function measure(options: Options, running: Running): Promise<void> {
  const { begun, signal, tell } = running;
  tell('starting chain, facilitator, market and city, each with what it needs');
  const bounds = await startBoundsWorld(begun, signal);
  const outcome: Outcome = {
    table: options.parts.includes('table') ? await measureTable(bounds, running) : null,
    honest: options.parts.includes('honest') ? await measureHonest(bounds, options.seconds, running) : null,
  };
  process.stdout.write(options.json ? `${JSON.stringify(outcome)}\n` : `\n${reportText(outcome)}`);
  if (outcome.table !== null && tooDear(outcome.table).length > 0) process.exitCode = 1;
}

runBench<Options>({ help: HELP, read: readOptions, measure });

import { type Running, runBench, secondsSoFar } from '../run-bench.ts';
import { measureSearch } from './measure-search.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { reportText } from './report.ts';

async function measure(options: Options, running: Running): Promise<void> {
  const outcome = await measureSearch(options, running);
  const json = `${JSON.stringify({ ...outcome, seconds: secondsSoFar() }, null, 2)}\n`;
  process.stdout.write(options.json ? json : `\n${reportText(outcome)}`);
}

runBench({ help: HELP, read: readOptions, measure });

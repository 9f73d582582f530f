import { type Running, runBench } from '../run-bench.ts';
import { measureBrowse } from './measure-browse.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { reportText } from './report.ts';

async function measure(options: Options, running: Running): Promise<void> {
  const outcomes = await measureBrowse(options, running);
  process.stdout.write(options.json ? `${JSON.stringify(outcomes, null, 2)}\n` : `\n${reportText(outcomes)}`);
}

runBench({ help: HELP, read: readOptions, measure });

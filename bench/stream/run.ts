import { type Running, runBench } from '../run-bench.ts';
import { measureStream } from './measure-stream.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { reportText } from './report.ts';

async function measure(options: Options, running: Running): Promise<void> {
  const outcome = await measureStream(options, running);
  process.stdout.write(options.json ? `${JSON.stringify(outcome, null, 2)}\n` : `\n${reportText(outcome)}`);
  if (outcome.faults.length > 0) process.exitCode = 1;
}

runBench({ help: HELP, read: readOptions, measure });

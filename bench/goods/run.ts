import { type Running, runBench } from '../run-bench.ts';
import { measureGoods } from './measure-goods.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { reportText } from './report.ts';

async function measure(options: Options, running: Running): Promise<void> {
  const outcome = await measureGoods(options, running);
  process.stdout.write(options.json ? `${JSON.stringify(outcome, null, 2)}\n` : `\n${reportText(outcome)}`);
}

runBench({ help: HELP, read: readOptions, measure });

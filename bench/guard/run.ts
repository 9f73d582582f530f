import { writeFile } from 'node:fs/promises';
import { type Running, runBench } from '../run-bench.ts';
import { measureGuard } from './measure-guard.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { reportText } from './report.ts';

async function measure(options: Options, running: Running): Promise<void> {
  const outcome = await measureGuard(options, running);
  const json = `${JSON.stringify(outcome, null, 2)}\n`;
  process.stdout.write(options.json === '-' ? json : `\n${reportText(outcome)}`);
  if (options.json !== null && options.json !== '-') await writeFile(options.json, json);
}

runBench({ help: HELP, read: readOptions, measure });

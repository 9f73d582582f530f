import { writeFile } from 'node:fs/promises';
import { type Running, runBench, secondsSoFar } from '../run-bench.ts';
import { measureCatalog } from './measure-catalog.ts';
import { HELP, type Options, readOptions } from './options.ts';
import { reportText } from './report.ts';

async function measure(options: Options, running: Running): Promise<void> {
  const outcome = await measureCatalog(options, running);
  const json = `${JSON.stringify({ ...outcome, seconds: secondsSoFar() }, null, 2)}\n`;
  if (options.json === '-') process.stdout.write(json);
  else process.stdout.write(`\n${reportText({ ...outcome, seconds: secondsSoFar() })}`);
  if (options.json !== null && options.json !== '-') await writeFile(options.json, json);
  // A fast wrong answer is a failure.
  if ((outcome.writes?.faults.length ?? 0) > 0) process.exitCode = 1;
}

runBench({ help: HELP, read: readOptions, measure });

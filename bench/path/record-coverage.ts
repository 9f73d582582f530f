import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

/**
 * This module is loaded before a server's program. It counts from the start, because V8 counts blocks only in functions that are compiled
 * while counting. Each SIGUSR2 writes the coverage since the last signal to the next file of the folder, and resets the counts.
 */
const folder = process.env['BENCH_COVERAGE_FOLDER'];
if (isMainThread && folder !== undefined) {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  let taken = 0;
  process.on('SIGUSR2', () => {
    session.post('Profiler.takePreciseCoverage', (error, coverage) => {
      taken += 1;
      const file = join(folder, `${taken}.json`);
      writeFileSync(`${file}.part`, JSON.stringify(error ?? coverage.result));
      renameSync(`${file}.part`, file);
    });
  });
}

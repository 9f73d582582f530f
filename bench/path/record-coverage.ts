import { renameSync, writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';
import { isMainThread } from 'node:worker_threads';

/**
 * Loaded before a server's program. Counts from the first function on, since V8 counts the blocks of a function only if it was compiled
 * while counting. At each SIGUSR2 it writes what ran since the last one into the next file of the folder, and begins again at zero.
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

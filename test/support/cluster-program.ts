import { systemClock } from '../../src/platform/clock.ts';
import { joinSupervisor, superviseWorkers } from '../../src/platform/cluster.ts';
import { createLog } from '../../src/platform/log.ts';

// Runs a supervisor with workers but without a market. The argument says which workers fail, and when.

const mode = process.argv[2];
const log = createLog({ fields: ['worker', 'code'] });
const working = joinSupervisor({
  onStop: () => process.exit(0),
  onOrphaned: () => {},
  answer: async () => process.pid,
});

if (working === null) {
  // Divides all waits by 25.
  const clock = {
    now: systemClock.now,
    sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms / 25, signal),
  };
  const workers = superviseWorkers({ count: 2, task: { mode }, clock, log });
  workers.start();
  void workers.failed.then(async () => {
    await workers.stop({ drainMs: 100_000 });
    log.info('failed', { count: workers.state().restarts });
  });
  process.on('SIGTERM', async () => {
    const answers = await workers.ask(100_000);
    log.info('asked', { count: answers.length, name: answers.map(({ number }) => number).join() });
    await workers.stop({ drainMs: mode === 'deaf' ? 2_500 : 100_000 });
    process.exit(0);
  });
} else {
  const seat = await working;
  if (mode === 'first falls' && seat.number === 1) process.exit(3);
  seat.ready();
  log.info('ready', { pid: process.pid, worker: seat.number });
  if (mode === 'all fall') await systemClock.sleep(30).then(() => process.exit(4));
  if (mode === 'deaf') process.removeAllListeners('message').removeAllListeners('internalMessage');
}

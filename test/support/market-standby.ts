import { once } from 'node:events';
import { flushCompileCache } from 'node:module';

/**
 * A market that has all of its code in memory and does nothing until it gets a line on its input, so that the next one is soon there
 * when one is killed. The line names the point at which it is to kill itself, or none.
 */
await import('../../src/market/start.ts');
await import('../../src/market/supervisor.ts');
await import('../../src/market/supervisor.ts');
// A process that is killed would leave nothing for the next one.
flushCompileCache();
// A worker of such a market is wanted at once, and has the environment of the one that started it.
if (process.send === undefined) {
  const [line] = (await once(process.stdin, 'data')) as [Buffer];
  // An open input would keep a market alive that wants to end.
  process.stdin.destroy();
  const crashAt = line.toString('utf8').trim();
  if (crashAt !== '') process.env['OPENAISLE_TEST_CRASH_AT'] = crashAt;
}
await import('../../src/market/main.ts');

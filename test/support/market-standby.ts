import { once } from 'node:events';
import { flushCompileCache } from 'node:module';

/**
 * A market that has loaded all its code and waits for a line on its input, so that it can replace a killed one quickly. The line names the
 * point at which the market must kill itself, or is empty.
 */
await import('../../src/market/start.ts');
await import('../../src/market/supervisor.ts');
await import('../../src/market/supervisor.ts');
// Flush now, because a killed process would leave nothing for the next one.
flushCompileCache();
// A worker waits for no line, because it inherits its supervisor's environment.
if (process.send === undefined) {
  const [line] = (await once(process.stdin, 'data')) as [Buffer];
  // An open input would keep the process alive.
  process.stdin.destroy();
  const crashAt = line.toString('utf8').trim();
  if (crashAt !== '') process.env['OPENAISLE_TEST_CRASH_AT'] = crashAt;
}
await import('../../src/market/main.ts');

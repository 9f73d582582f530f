import { isPortFree } from '../../src/local/open-servers.ts';
import { systemRandom } from '../../src/platform/random.ts';

/**
 * Ports that no system gives away by itself: Linux takes those of outgoing connections from 32768 on, and one of these could be taken
 * between the answer and its use. Each worker of a run has some to itself; the demonstration's tests have those from 24000 on.
 */
const COUNT = 2_000;
const FIRST = 10_000 + (Number(process.env['VITEST_POOL_ID'] ?? 0) % 7) * COUNT;
let next = systemRandom.int(COUNT);

/** A port for processes that must be told theirs. Each is given out once, so whoever had one can come back to it. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < COUNT; tried += 1) {
    const port = FIRST + next;
    next = (next + 1) % COUNT;
    if (await isPortFree(port)) return port;
  }
  throw new Error(`no free port from ${FIRST} to ${FIRST + COUNT - 1}`);
}

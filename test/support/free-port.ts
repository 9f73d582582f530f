import { isPortFree } from '../../src/local/open-servers.ts';
import { systemRandom } from '../../src/platform/random.ts';

/**
 * Ports below Linux's ephemeral range (from 32768), so no outgoing connection can take one before it is used. Each worker of a run has its
 * own range; the demonstration's tests use ports from 24000.
 */
const COUNT = 2_000;
const FIRST = 10_000 + (Number(process.env['VITEST_POOL_ID'] ?? 0) % 7) * COUNT;
let next = systemRandom.int(COUNT);

/** Returns a port for a process that needs to know its port. Each is returned once, so its owner may reuse it after a restart. */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < COUNT; tried += 1) {
    const port = FIRST + next;
    next = (next + 1) % COUNT;
    if (await isPortFree(port)) return port;
  }
  throw new Error(`no free port from ${FIRST} to ${FIRST + COUNT - 1}`);
}

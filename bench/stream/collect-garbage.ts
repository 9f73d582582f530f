import { readFile } from 'node:fs/promises';
import { systemClock } from '../../src/platform/clock.ts';

const ADDRESS = /ws:\/\/127\.0\.0\.1:\d+\/[0-9a-f-]+/;
const TRIES = 50;
const WAIT_MS = 100;

/**
 * Collects another process's garbage through Node's inspector. Without that, uncollected objects and V8's new space vary by tens of
 * megabytes, which hides how much memory is in use.
 */
export async function collectGarbage({ pid, logFile }: { pid: number; logFile: string }): Promise<void> {
  process.kill(pid, 'SIGUSR1');
  const socket = new WebSocket(await debuggerAddress(logFile));
  try {
    await nextEvent(socket, 'open');
    // Run twice: the second collection frees what the first one finalizes.
    for (const id of [1, 2]) {
      const answered = nextEvent(socket, 'message');
      socket.send(JSON.stringify({ id, method: 'HeapProfiler.collectGarbage' }));
      await answered;
    }
  } finally {
    socket.close();
  }
}

async function debuggerAddress(logFile: string): Promise<string> {
  for (let tried = 0; tried < TRIES; tried += 1) {
    const [address] = ADDRESS.exec(await readFile(logFile, 'utf8')) ?? [];
    if (address !== undefined) return address;
    await systemClock.sleep(WAIT_MS);
  }
  throw new Error('the market opens no door for debuggers: is another program at port 9229?');
}

function nextEvent(socket: WebSocket, what: 'open' | 'message'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener(what, () => resolve(), { once: true });
    socket.addEventListener('error', () => reject(new Error('the debugger’s door is shut')), { once: true });
  });
}

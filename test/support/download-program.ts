import { createHash } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

/** Downloads several times at once and reads slowly, in a thread with a heap of its own. Reports the hashes. */
const { url, headers, count } = workerData as { url: string; headers: Record<string, string>; count: number };

async function readSlowly(): Promise<string> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers, agent: false }, resolve).on('error', reject);
  });
  const hash = createHash('sha256');
  for await (const piece of answer as AsyncIterable<Buffer>) {
    hash.update(piece);
    // All others have a turn between two pieces.
    await new Promise(setImmediate);
  }
  return hash.digest('hex');
}

parentPort?.postMessage(await Promise.all(Array.from({ length: count }, readSlowly)));

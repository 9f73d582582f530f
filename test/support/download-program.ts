import { createHash } from 'node:crypto';
import { get, type IncomingMessage } from 'node:http';
import { parentPort, workerData } from 'node:worker_threads';

/** Sent each time so many more bytes have arrived in all downloads together, then once with the hashes. */
export type DownloadReport = { received: number } | { hashes: string[] };

/** Downloads several times at once and reads slowly, in a thread with a heap of its own. Reports its progress and the hashes. */
const { url, headers, count, reportEvery } = workerData as {
  url: string;
  headers: Record<string, string>;
  count: number;
  reportEvery: number;
};
let received = 0;
let reported = 0;

function report(message: DownloadReport): void {
  parentPort?.postMessage(message);
}

async function readSlowly(): Promise<string> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get(url, { headers, agent: false }, resolve).on('error', reject);
  });
  const hash = createHash('sha256');
  for await (const piece of answer as AsyncIterable<Buffer>) {
    hash.update(piece);
    received += piece.length;
    if (received >= reported + reportEvery) {
      reported = received;
      report({ received });
    }
    // All others have a turn between two pieces.
    await new Promise(setImmediate);
  }
  return hash.digest('hex');
}

report({ hashes: await Promise.all(Array.from({ length: count }, readSlowly)) });

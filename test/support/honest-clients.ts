import { request } from 'node:http';

export interface Honest {
  answered: number;
  /** Path of each request that was not answered with 200, with its status or failure. */
  refused: string[];
  /** Requests that took more than a second. */
  slow: number;
  slowestMs: number;
}

const SLOW_MS = 1_000;
const PATIENCE_MS = 20_000;

/** Starts clients that each send requests one after the other from their own address, until stopped. */
export function startHonest(port: number, paths: readonly string[], clients = 6) {
  const seen: Honest = { answered: 0, refused: [], slow: 0, slowestMs: 0 };
  let isOver = false;
  const run = async (index: number): Promise<void> => {
    for (let turn = index; !isOver; turn += 1) {
      const path = paths[turn % paths.length] ?? '/';
      const begun = performance.now();
      const status = await askFrom(port, path, `127.9.${index}.1`);
      const ms = performance.now() - begun;
      seen.answered += 1;
      if (status !== 200) seen.refused.push(`${path} ${status}`);
      if (ms > SLOW_MS) seen.slow += 1;
      seen.slowestMs = Math.max(seen.slowestMs, ms);
    }
  };
  const running = Array.from({ length: clients }, (_, index) => run(index + 1));
  return {
    seen,
    end: async (): Promise<Honest> => {
      isOver = true;
      await Promise.all(running);
      return seen;
    },
  };
}

/** Returns the status, or the reason of a failure. Uses a new connection, like a first-time client. */
export function askFrom(port: number, path: string, localAddress: string): Promise<number | string> {
  return new Promise((resolve) => {
    const sent = request(
      { host: '127.0.0.1', port, path, localAddress, agent: false, timeout: PATIENCE_MS },
      (answer) => {
        answer.resume();
        answer.once('end', () => resolve(answer.statusCode ?? 0));
        answer.once('error', () => resolve('broken off'));
      },
    );
    sent.once('timeout', () => sent.destroy(new Error('silent')));
    sent.once('error', (error) => resolve(error.message));
    sent.end();
  });
}

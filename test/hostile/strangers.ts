import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { beforeAll, expect, onTestFinished, vi } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { mainProcesses } from '../support/main-process.ts';

/** A market for the tests of a `describe`, on a database of its own. Each path was read once: what the first request makes is made. */
export function attackedMarket(paths: readonly string[]): { port: number; pid: number } {
  const market = { port: 0, pid: 0 };
  let databaseUrl = '';
  const processes = mainProcesses(
    {
      get url() {
        return databaseUrl;
      },
    },
    'describe',
  );
  beforeAll(async () => {
    const db = await createTestDatabase();
    databaseUrl = db.url;
    const started = processes.start(await processes.onGivenDatabase());
    await vi.waitFor(() => expect(started.lines('market_listening')).toHaveLength(1), {
      timeout: 30_000,
      interval: 20,
    });
    Object.assign(market, { port: Number(new URL(started.url).port), pid: started.child.pid ?? 0 });
    for (const path of paths) await askFrom(market.port, path, '127.8.0.1');
    return () => db.drop();
  });
  return market;
}

/** Sockets from one address, each opened with these bytes. What comes back is not read, unless `onData` does. */
export async function openSockets(
  port: number,
  given: { from: string; count: number; bytes: string | Buffer; onData?: (data: Buffer) => void },
): Promise<{ sockets: Socket[]; close(): void }> {
  const { from, count, bytes, onData } = given;
  const sockets = Array.from({ length: count }, () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from });
    // Refused and cut is what is to be expected.
    socket.on('error', () => undefined);
    if (onData === undefined) socket.pause();
    else socket.on('data', onData);
    return socket;
  });
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.once('connect', () => {
            socket.write(bytes);
            resolve();
          });
          socket.once('close', () => resolve());
        }),
    ),
  );
  return {
    sockets,
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

export interface Honest {
  answered: number;
  /** Answers of 429 and 503, and none at all. */
  refused: string[];
  /** Longer than a second. */
  slow: number;
  slowestMs: number;
}

const SLOW_MS = 1_000;
const PATIENCE_MS = 20_000;

/** Clients that ask one thing after the other, each from an address of its own, until they are told to stop. */
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
    /** So far. */
    seen,
    end: async (): Promise<Honest> => {
      isOver = true;
      await Promise.all(running);
      return seen;
    },
  };
}

/** The status, or why there is none. A connection of its own, as a stranger's first. */
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

export function residentMb(pid: number): number {
  const kb = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1_024;
}

/** The most that a process holds in memory while it is watched. */
export function watchMemory(pid: number) {
  let most = residentMb(pid);
  onTestFinished(() => clearInterval(timer));
  const timer = setInterval(() => {
    most = Math.max(most, residentMb(pid));
  }, 100);
  return {
    end: (): number => {
      clearInterval(timer);
      return most;
    },
  };
}

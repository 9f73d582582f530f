import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { beforeAll, expect, onTestFinished, vi } from 'vitest';
import { createTestDatabase } from '../support/database.ts';
import { askFrom } from '../support/honest-clients.ts';
import { mainProcesses } from '../support/main-process.ts';

export { askFrom, type Honest, startHonest } from '../support/honest-clients.ts';

/** Starts a market with its own database for the tests of a `describe`. Reads each path once to warm up. */
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

/** Opens sockets from one address and sends these first bytes on each. Only `onData` reads answers. */
export async function openSockets(
  port: number,
  given: { from: string; count: number; bytes: string | Buffer; onData?: (data: Buffer) => void },
): Promise<{ sockets: Socket[]; close(): void }> {
  const { from, count, bytes, onData } = given;
  const sockets = Array.from({ length: count }, () => {
    const socket = connect({ port, host: '127.0.0.1', localAddress: from });
    // Refused and closed connections are expected here.
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

export function residentMb(pid: number): number {
  const kb = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1_024;
}

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

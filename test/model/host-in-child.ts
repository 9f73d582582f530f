import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Order } from './market-child.ts';
import { type MarketHost, type OpenHost, urlOf } from './market-host.ts';

const PROGRAM = fileURLToPath(new URL('./market-child.ts', import.meta.url));

interface Child {
  process: ChildProcess;
  /** Sends an order and resolves with the answer. Null if the child died before it answered. */
  tell(order: Order): Promise<string | null>;
  exited: Promise<unknown>;
}

function startChild(): Child {
  // Terms contain bigints, which JSON cannot encode.
  const child = fork(PROGRAM, { serialization: 'advanced', stdio: 'inherit' });
  const waiting = new Map<number, { resolve(answer: string | null): void; reject(error: Error): void }>();
  let last = 0;
  child.on('message', (message: { id: number; answer?: string | null; error?: string }) => {
    const one = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error === undefined) one?.resolve(message.answer ?? null);
    else one?.reject(new Error(message.error));
  });
  let ended = false;
  const exited = once(child, 'exit').then(() => {
    ended = true;
    for (const { resolve } of waiting.values()) resolve(null);
    waiting.clear();
  });
  return {
    process: child,
    exited,
    tell: (order) =>
      new Promise((resolve, reject) => {
        // The exit may be noticed before the channel closes.
        if (ended || !child.connected) return resolve(null);
        last += 1;
        waiting.set(last, { resolve, reject });
        child.send({ id: last, order }, (error) => error && resolve(null));
      }),
  };
}

/** Starts a market in a child process. The kernel kills it, so none of its work continues. */
export const hostInChild: OpenHost = async (config, nowMs) => {
  const databaseUrl = urlOf(config);
  let now = nowMs;
  const start = async (): Promise<{ child: Child; url: string }> => {
    const child = startChild();
    const url = await child.tell({ what: 'start', config, databaseUrl, now });
    if (url === null) throw new Error('the market ended before it listened');
    return { child, url };
  };
  let market = await start();
  const kill = async (): Promise<void> => {
    market.child.process.kill('SIGKILL');
    await market.child.exited;
  };
  const host: MarketHost = {
    get url() {
      return market.url;
    },
    pass: async () => void (await market.child.tell({ what: 'pass' })),
    look: async () => void (await market.child.tell({ what: 'look' })),
    setNow: async (ms) => {
      now = ms;
      await market.child.tell({ what: 'now', now });
    },
    crashAt: async (at) => void (await market.child.tell({ what: 'crash', at })),
    hasCrashed: async () => {
      if ((await market.child.tell({ what: 'now', now })) !== null) return false;
      // A child that does not answer is about to exit.
      await market.child.exited;
      return true;
    },
    restart: async () => {
      await kill();
      market = await start();
    },
    stop: kill,
  };
  return host;
};

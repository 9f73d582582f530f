import { systemClock } from '../../src/platform/clock.ts';
import type { Order } from '../orders.ts';
import type { Shop } from '../shops.ts';
import { askOnNewConnection } from './buy-one.ts';

/** Buyers that have paid and request their goods at the pace of Retry-After. */
export interface Buyers {
  /** Returns the number of requests so far. */
  asked(): number;
  delivered(): number;
  stop(): Promise<void>;
}

const LOOK_MS = 50;
/** Spreads the first requests over this time, as if payments had begun one by one. */
const SPREAD_MS = 30_000;

export function letBuyersAsk(url: string, shop: Shop, orders: readonly Order[]): Buyers {
  const begin = performance.now();
  let waiting = orders.map((order, n) => ({ order, nextAt: begin + (n / orders.length) * SPREAD_MS }));
  const counts = { asked: 0, delivered: 0 };
  const stopping = new AbortController();
  const ask = async (one: (typeof waiting)[number]): Promise<void> => {
    one.nextAt = Number.POSITIVE_INFINITY;
    const answer = await askOnNewConnection(url, shop, one.order);
    counts.asked += 1;
    const { outcome } = shop.read(one.order, answer);
    if (outcome === 'goods') {
      counts.delivered += 1;
      waiting = waiting.filter((other) => other !== one);
    } else one.nextAt = performance.now() + retryAfterMs(answer.head);
  };
  const running = (async () => {
    while (!stopping.signal.aborted) {
      const now = performance.now();
      await Promise.all(waiting.filter(({ nextAt }) => nextAt <= now).map(ask));
      await systemClock.sleep(LOOK_MS, stopping.signal);
    }
  })();
  // `stop` reports the failure.
  running.catch(() => {});
  return {
    asked: () => counts.asked,
    delivered: () => counts.delivered,
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

export function retryAfterMs(head: string): number {
  const seconds = /\r\nretry-after: *(\d+)/i.exec(head)?.[1];
  if (seconds === undefined) throw new Error('an answer without Retry-After');
  return Number(seconds) * 1_000;
}

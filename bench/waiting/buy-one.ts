import { systemClock } from '../../src/platform/clock.ts';
import type { Heads } from '../heads.ts';
import { median } from '../load.ts';
import type { Order } from '../orders.ts';
import { BUYER_POLL_MS } from '../settings.ts';
import type { Shop } from '../shops.ts';
import { openWire, type WireAnswer } from '../wire.ts';
import { BLOCK_SECONDS } from './settings.ts';

export interface FirstAnswer {
  /** Times until the answer: from the first request, and from the transaction's block as the chain's subscription announced it. */
  ms: number;
  afterBlockMs: number;
}

/** Asks like a restarted client: over a new connection, which leads to any of the market's processes. */
export async function askOnNewConnection(url: string, shop: Shop, order: Order): Promise<WireAnswer> {
  const wire = await openWire(url, { keepBody: true });
  try {
    return await wire.ask(shop.request(order));
  } finally {
    wire.close();
  }
}

/** Buys until an answer names the mined transaction. Always starts half an interval before a block is due, to exclude chance. */
export async function buyOne(url: string, shop: Shop, order: Order, heads: Heads): Promise<FirstAnswer> {
  const next = Promise.withResolvers<void>();
  heads.onHead(next.resolve);
  await next.promise;
  await systemClock.sleep((BLOCK_SECONDS / 2) * 1_000);
  const begin = performance.now();
  for (;;) {
    const { mined } = shop.read(order, await askOnNewConnection(url, shop, order));
    const now = performance.now();
    if (mined !== null) return { ms: now - begin, afterBlockMs: now - (heads.seenAt(mined.block ?? 0) ?? Number.NaN) };
    await systemClock.sleep(BUYER_POLL_MS);
  }
}

/** Makes the purchases one by one and returns the medians. */
export async function buySome(url: string, shop: Shop, orders: readonly Order[], heads: Heads): Promise<FirstAnswer> {
  const answers: FirstAnswer[] = [];
  for (const order of orders) answers.push(await buyOne(url, shop, order, heads));
  return { ms: median(answers.map(({ ms }) => ms)), afterBlockMs: median(answers.map((one) => one.afterBlockMs)) };
}

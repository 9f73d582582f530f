import { systemClock } from '../../src/platform/clock.ts';
import type { Heads } from '../heads.ts';
import { median } from '../load.ts';
import type { Order } from '../orders.ts';
import { BUYER_POLL_MS } from '../settings.ts';
import type { Shop } from '../shops.ts';
import { openWire, type WireAnswer } from '../wire.ts';
import { BLOCK_SECONDS } from './settings.ts';

export interface FirstAnswer {
  /** From the first request, and from the block of its transaction as the chain told it. */
  ms: number;
  afterBlockMs: number;
}

/** As a client that begins again: over a connection of its own, which leads to any of the market's processes. */
export async function askOnNewConnection(url: string, shop: Shop, order: Order): Promise<WireAnswer> {
  const wire = await openWire(url, { keepBody: true });
  try {
    return await wire.ask(shop.request(order));
  } finally {
    wire.close();
  }
}

/** Until an answer names the mined transaction. Begun half a beat before a block is due, or the wait for one would be chance. */
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

/** One after the other: the medians. */
export async function buySome(url: string, shop: Shop, orders: readonly Order[], heads: Heads): Promise<FirstAnswer> {
  const answers: FirstAnswer[] = [];
  for (const order of orders) answers.push(await buyOne(url, shop, order, heads));
  return { ms: median(answers.map(({ ms }) => ms)), afterBlockMs: median(answers.map((one) => one.afterBlockMs)) };
}

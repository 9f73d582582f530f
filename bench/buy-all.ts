import { systemClock } from '../src/platform/clock.ts';
import type { Hex } from '../src/platform/hex.ts';
import type { Heads } from './heads.ts';
import type { Order } from './orders.ts';
import { BUYER_POLL_MS, BUYING_SECONDS } from './settings.ts';
import type { Shop, Told } from './shops.ts';
import { createWirePool, type WirePool } from './wire-pool.ts';

export interface PurchaseRound {
  perSecond: number;
  /** Orders that were submitted. No server has seen the proofs of the others. */
  begun: Order[];
  delivered: Order[];
  /** Number of answers by name, such as `first 202` or `later 200`. */
  answers: Record<string, number>;
  /** Times from the first request of a purchase to the first answer that names its mined transaction, and to its goods. */
  firstAnswerMs: number[];
  deliveredMs: number[];
  /** Times from the block that made a transfer final, by the chain's subscription, to the goods. */
  goodsDelayMs: number[];
  transactions: Hex[];
}

interface Scene {
  shop: Shop;
  wires: WirePool;
  heads: Heads;
  round: PurchaseRound;
}

interface Buying {
  order: Order;
  begunAt: number;
  asked: number;
  mined: Told['mined'];
}

const GIVEN_UP_MS = 60_000;

/**
 * Measures from the first request to the last delivery, `atOnce` purchases at a time. A purchase frees its slot once an answer names its
 * mined transaction, because only the chain determines how long finality takes after that. A single buyer has its goods before it buys
 * again.
 */
export async function buyAll(
  url: string,
  shop: Shop,
  orders: readonly Order[],
  given: { atOnce: number; heads: Heads },
): Promise<PurchaseRound> {
  const round: PurchaseRound = {
    ...{ perSecond: 0, begun: [], delivered: [], answers: {} },
    ...{ firstAnswerMs: [], deliveredMs: [], goodsDelayMs: [], transactions: [] },
  };
  const wires = await createWirePool(url, given.atOnce);
  const scene = { shop, wires, heads: given.heads, round };
  const fresh = orders.values();
  const waiting: Promise<boolean>[] = [];
  const begin = performance.now();
  const lane = async (): Promise<void> => {
    while (performance.now() < begin + BUYING_SECONDS * 1_000) {
      const order = fresh.next().value;
      if (order === undefined) return;
      round.begun.push(order);
      const buying: Buying = { order, begunAt: performance.now(), asked: 0, mined: null };
      const alone = given.atOnce === 1;
      const open = await askUntil(scene, buying, (told) => !alone && told.mined !== null);
      if (!open) continue;
      const goods = askUntil(scene, buying, () => false, BUYER_POLL_MS);
      // Awaited once all have begun. Until then, a failure must not count as unhandled.
      goods.catch(() => {});
      waiting.push(goods);
    }
  };
  try {
    await Promise.all(Array.from({ length: given.atOnce }, lane));
    await Promise.all(waiting);
  } finally {
    wires.close();
  }
  round.perSecond = round.delivered.length / ((performance.now() - begin) / 1_000);
  return round;
}

/** Asks at a fixed pace until the purchase has ended or is as far as wanted. Returns true if it is still open. */
async function askUntil(
  scene: Scene,
  buying: Buying,
  farEnough: (told: Told) => boolean,
  firstPauseMs = 0,
): Promise<boolean> {
  for (let pauseMs = firstPauseMs; ; pauseMs = BUYER_POLL_MS) {
    if (pauseMs > 0) await systemClock.sleep(pauseMs);
    const told = scene.shop.read(buying.order, await scene.wires.ask(scene.shop.request(buying.order)));
    const now = performance.now();
    recordAnswer(scene, buying, told, now);
    if (told.outcome !== 'pending') return false;
    if (farEnough(told)) return true;
    if (now - buying.begunAt > GIVEN_UP_MS) throw new Error(`no goods after ${GIVEN_UP_MS} ms: ${told.name}`);
  }
}

function recordAnswer({ heads, round }: Scene, buying: Buying, told: Told, now: number): void {
  const name = `${buying.asked === 0 ? 'first' : 'later'} ${told.name}`;
  buying.asked += 1;
  round.answers[name] = (round.answers[name] ?? 0) + 1;
  if (told.mined !== null && buying.mined === null) {
    buying.mined = told.mined;
    round.firstAnswerMs.push(now - buying.begunAt);
    round.transactions.push(told.mined.hash);
  }
  if (told.outcome !== 'goods') return;
  round.delivered.push(buying.order);
  round.deliveredMs.push(now - buying.begunAt);
  const finalAt = heads.finalAt(buying.mined?.block ?? Number.NaN);
  if (finalAt !== undefined) round.goodsDelayMs.push(now - finalAt);
}

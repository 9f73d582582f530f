import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { systemClock } from '../src/platform/clock.ts';
import { signAuthorization } from '../test/support/chain.ts';
import { payerAccount } from './chain.ts';
import { makeAuthorization, proofHeader } from './proof.ts';
import type { Goods, Seeded } from './seed.ts';
import { BUYING_AT_ONCE, BUYING_SECONDS, PAYERS } from './settings.ts';
import { openWire, requestBytes, type Wire, type WireAnswer } from './wire.ts';

/** One purchase to be made, signed beforehand. */
export interface Order {
  goods: Goods;
  payer: number;
  headers: Record<string, string>;
}

export interface PurchaseRound {
  perSecond: number;
  /** Those that were submitted; the others' proofs were never shown to anybody. */
  begun: Order[];
  delivered: Order[];
  /** How often each answer came, in words such as `202`, `200` or `503 settlement_pending`. */
  answers: Record<string, number>;
  /** From the first request of a purchase to its first answer, and to its goods; medians and worst, in milliseconds. */
  firstAnswerMs: number[];
  deliveredMs: number[];
}

/** Of each two payers one buys with a merchant's key and one without an account; half of the proofs are v1, half v2. */
export async function signOrders(
  chain: LocalChain,
  seeded: Seeded,
  given: { count: number; madeBefore: number },
): Promise<Order[]> {
  const orders: Order[] = [];
  for (let n = given.madeBefore; n < given.madeBefore + given.count; n += 1) {
    const goods = seeded.goods[n % seeded.goods.length];
    if (goods === undefined) throw new Error('no listing to buy');
    // The next time round each listing goes to another payer: nobody buys the same thing twice.
    const payer = (n + Math.floor(n / seeded.goods.length)) % PAYERS;
    const authorization = makeAuthorization(payerAccount(payer), goods.payee, goods.priceUnits);
    const signature = await signAuthorization(chain, payerAccount(payer), authorization);
    const key = payer % 2 === 0 ? seeded.buyerKeys[payer] : undefined;
    const proof = proofHeader(n % 4 < 2 ? 1 : 2, authorization, signature);
    orders.push({
      goods,
      payer,
      headers: { ...proof, ...(key === undefined ? {} : { authorization: `Bearer ${key}` }) },
    });
  }
  return orders;
}

interface Buying {
  order: Order;
  begunAt: number;
  dueAt: number;
}

/**
 * From the first request to the last delivery. As many requests at once as there are lanes; a buyer whose payment is pending frees
 * its lane and asks again when the market said, with the same proof. What is due goes before what is new.
 */
export async function measurePurchases(marketUrl: string, orders: readonly Order[]): Promise<PurchaseRound> {
  const wires = await Promise.all(
    Array.from({ length: BUYING_AT_ONCE }, () => openWire(marketUrl, { keepBody: true })),
  );
  const fresh = orders.values();
  const pending: Buying[] = [];
  const round: PurchaseRound = {
    perSecond: 0,
    begun: [],
    delivered: [],
    answers: {},
    firstAnswerMs: [],
    deliveredMs: [],
  };
  let open = 0;
  let allBegun = false;
  const begin = performance.now();

  const take = (): Buying | null => {
    const now = performance.now();
    const [first] = pending;
    if (first !== undefined && first.dueAt <= now) return pending.shift() ?? null;
    const order = now < begin + BUYING_SECONDS * 1_000 ? fresh.next().value : undefined;
    allBegun ||= order === undefined;
    if (order === undefined) return null;
    open += 1;
    round.begun.push(order);
    return { order, begunAt: now, dueAt: now };
  };
  const lane = async (wire: Wire): Promise<void> => {
    while (open > 0 || !allBegun) {
      const buying = take();
      if (buying === null) {
        await systemClock.sleep(LANE_POLL_MS);
        continue;
      }
      const isFirst = buying.dueAt === buying.begunAt;
      const answer = await wire.ask(requestOf(marketUrl, buying.order));
      const now = performance.now();
      if (isFirst) round.firstAnswerMs.push(now - buying.begunAt);
      const waitMs = readAnswer(round, buying.order, answer, isFirst);
      if (waitMs === null) {
        open -= 1;
        round.deliveredMs.push(now - buying.begunAt);
      } else {
        pending.push({ ...buying, dueAt: now + waitMs });
        pending.sort((a, b) => a.dueAt - b.dueAt);
      }
    }
  };
  try {
    await Promise.all(wires.map(lane));
  } finally {
    for (const wire of wires) wire.close();
  }
  round.perSecond = round.delivered.length / ((performance.now() - begin) / 1_000);
  return round;
}

const LANE_POLL_MS = 5;

function requestOf(url: string, { goods, headers }: Order): Buffer {
  return requestBytes(url, { method: 'POST', path: `/api/buy/${goods.id}`, headers });
}

/** How long to wait before asking again; null once the goods are there. Anything unforeseen ends the measurement. */
function readAnswer(round: PurchaseRound, order: Order, answer: WireAnswer, isFirst: boolean): number | null {
  const body = JSON.parse(answer.body.toString()) as Record<string, unknown>;
  const name = [isFirst ? 'first' : 'later', answer.status, body['reason']]
    .filter((part) => part !== undefined)
    .join(' ');
  round.answers[name] = (round.answers[name] ?? 0) + 1;
  if (typeof body['delivery_token'] === 'string') order.headers['x-delivery-token'] = body['delivery_token'];
  if (answer.status === 200) {
    if (body['artifact'] !== order.goods.artifact)
      throw new Error(`listing ${order.goods.id} delivered something else`);
    round.delivered.push(order);
    return null;
  }
  if (answer.status === 202 || answer.status === 503) return 1_000 * (answer.retryAfterSeconds ?? 1);
  throw new Error(`a purchase of listing ${order.goods.id} was answered ${name}: ${String(body['detail'])}`);
}

import { type Books, checkBooks } from './check-books.ts';
import { median } from './load.ts';
import { measurePurchases, type PurchaseRound, signOrders } from './purchases.ts';
import { BUYING_AT_ONCE, PURCHASES_PER_ROUND, ROUNDS, TRANSFERS_PER_ROUND } from './settings.ts';
import { measureTransfers, signTransfers } from './transfers.ts';
import type { World } from './world.ts';

export interface BuyOutcome {
  purchases: { perSecond: number; rounds: number[] };
  transfers: { perSecond: number; rounds: number[] };
  /** Median of the rounds' ratios, purchases to transfers. */
  ratio: number;
  answers: Record<string, number>;
  firstAnswerMs: { median: number; worst: number };
  deliveredMs: { median: number; worst: number };
  books: Books;
}

/** Direct transfers and whole purchases in turn, on the same chain with the same settings. */
export async function measureBuys(world: World, tell: (line: string) => void): Promise<BuyOutcome> {
  const { chain, seeded, marketUrl } = world;
  tell('buying: warming up');
  const warmUp = await signOrders(chain, seeded, { count: BUYING_AT_ONCE * 2, madeBefore: 0 });
  let signed = warmUp.length;
  const rounds: PurchaseRound[] = [];
  const transfers: number[] = [];
  const warm = await measurePurchases(marketUrl, warmUp);
  const ordered = [...warm.begun];
  const delivered = [...warm.delivered];
  for (let round = 0; round < ROUNDS; round += 1) {
    const orders = await signOrders(chain, seeded, { count: PURCHASES_PER_ROUND, madeBefore: signed });
    signed += orders.length;
    const sentBefore = round * TRANSFERS_PER_ROUND;
    const lanes = await signTransfers(chain, seeded.goods, { count: TRANSFERS_PER_ROUND, sentBefore });
    transfers.push(await measureTransfers(chain, lanes));
    const bought = await measurePurchases(marketUrl, orders);
    ordered.push(...bought.begun);
    delivered.push(...bought.delivered);
    rounds.push(bought);
    const speeds = `${bought.perSecond.toFixed(1)} purchases/s beside ${transfers.at(-1)?.toFixed(0)} transfers/s`;
    tell(`buying: round ${round + 1} of ${ROUNDS}: ${speeds}`);
  }
  tell('comparing the goods delivered with the chain and the books');
  const sent = ROUNDS * TRANSFERS_PER_ROUND;
  const books = await checkBooks({ ...world, ordered, delivered, transfers: sent });
  return outcomeOf(rounds, transfers, books);
}

function outcomeOf(rounds: readonly PurchaseRound[], transfers: readonly number[], books: Books): BuyOutcome {
  const speeds = rounds.map(({ perSecond }) => perSecond);
  const answers: Record<string, number> = {};
  for (const [name, count] of rounds.flatMap((round) => Object.entries(round.answers))) {
    answers[name] = (answers[name] ?? 0) + count;
  }
  const spread = (values: readonly number[]) => ({ median: median(values), worst: Math.max(...values) });
  return {
    purchases: { perSecond: median(speeds), rounds: speeds },
    transfers: { perSecond: median(transfers), rounds: [...transfers] },
    ratio: median(speeds.map((speed, index) => speed / (transfers[index] ?? Number.NaN))),
    answers,
    firstAnswerMs: spread(rounds.flatMap((round) => round.firstAnswerMs)),
    deliveredMs: spread(rounds.flatMap((round) => round.deliveredMs)),
    books,
  };
}

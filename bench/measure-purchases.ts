import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { buyAll, type PurchaseRound } from './buy-all.ts';
import { checkBooks, type Sales, type Verdict } from './check-books.ts';
import type { ForeignTransfers } from './foreign-transfers.ts';
import { readGas } from './gas.ts';
import type { Heads } from './heads.ts';
import { type Order, signOrders } from './orders.ts';
import { watchOtherPrograms } from './other-programs.ts';
import { LEVELS, type Level } from './settings.ts';
import { marketShop, type Shop, stockShop } from './shops.ts';
import type { Side } from './side.ts';
import { difference, perOne, type Spent } from './spent.ts';
import type { StockSeller } from './stock-seller.ts';
import { createTransferSigner, measureTransfers, type TransferSigner } from './transfers.ts';

export const SELLERS = ['market', 'stock'] as const;
export type SellerName = (typeof SELLERS)[number];

export interface Bought extends Omit<PurchaseRound, 'begun' | 'delivered' | 'transactions'> {
  delivered: number;
  failed: number;
  /** Costs per delivered purchase. */
  spent: Spent;
  /** Gas per payment transaction. */
  gas: number;
}

export type Round = Record<SellerName, Bought> & {
  atOnce: number;
  transfersPerSecond: number;
  /** Number of cores used by programs outside the benchmark. */
  otherCores: number;
};

export interface Purchases {
  rounds: Round[];
  /** Average transfers of strangers per block. */
  foreignPerBlock: number;
  books: Verdict;
}

interface Ground {
  chain: LocalChain;
  side: Side;
  stock: StockSeller;
  heads: Heads;
  foreign: ForeignTransfers;
  tell(line: string): void;
}

interface Seller {
  url: string;
  shop: Shop;
  spent(): Promise<Spent>;
  signed: number;
  ordered: Order[];
  delivered: Order[];
}

/** Measures market, stock seller and direct transfers in turn, at each level, on the same chain. */
export async function measurePurchases(ground: Ground, given: { rounds: number }): Promise<Purchases> {
  const { chain, side, stock, foreign, tell } = ground;
  const sellers: Record<SellerName, Seller> = {
    market: sellerOf(side.marketUrl, marketShop(side.marketUrl, side.seeded), side.spent),
    stock: sellerOf(stock.url, stockShop(stock.url), stock.spent),
  };
  const transfers = createTransferSigner(chain, side.seeded.goods);
  await foreign.start();
  tell('buying: warming up');
  for (const name of SELLERS) await buy(ground, sellers[name], { atOnce: WARM_UP.atOnce, count: WARM_UP.purchases });
  const rounds: Round[] = [];
  for (let round = 0; round < given.rounds; round += 1) {
    for (const level of LEVELS) {
      const measured = await measureRound(ground, { level, sellers, transfers, turn: round });
      rounds.push(measured);
      const [ours, theirs] = [measured.market.perSecond, measured.stock.perSecond].map((speed) => speed.toFixed(1));
      tell(
        `buying, round ${round + 1} of ${given.rounds}, ${level.atOnce} at once: ${ours}/s, stock seller ${theirs}/s`,
      );
    }
  }
  const foreignPerBlock = await foreign.stop();
  tell('comparing the goods delivered with the chain and the books');
  const sold = { market: salesOf(sellers.market), stock: salesOf(sellers.stock) };
  const books = await checkBooks({ chain, database: side.books, ...sold, transfers: transfers.signed() });
  return { rounds, foreignPerBlock, books };
}

const WARM_UP: Level = { atOnce: 8, purchases: 24, transfers: 0 };

async function measureRound(
  ground: Ground,
  given: { level: Level; sellers: Record<SellerName, Seller>; transfers: TransferSigner; turn: number },
): Promise<Round> {
  const { level, sellers, transfers, turn } = given;
  const { atOnce } = level;
  const lanes = await transfers.sign({ count: level.transfers, senders: atOnce });
  const otherPrograms = await watchOtherPrograms();
  const transfersPerSecond = await measureTransfers(ground.chain, lanes);
  const bought: Partial<Record<SellerName, Bought>> = {};
  for (const name of turn % 2 === 0 ? SELLERS : SELLERS.toReversed()) {
    bought[name] = await buy(ground, sellers[name], { atOnce, count: level.purchases });
  }
  const { market, stock } = bought;
  if (market === undefined || stock === undefined) throw new Error('half a round');
  return { atOnce, transfersPerSecond, otherCores: await otherPrograms(), market, stock };
}

function sellerOf(url: string, shop: Shop, spent: () => Promise<Spent>): Seller {
  return { url, shop, spent, signed: 0, ordered: [], delivered: [] };
}

function salesOf({ ordered, delivered }: Seller): Sales {
  return { ordered, delivered };
}

async function buy(ground: Ground, seller: Seller, given: { atOnce: number; count: number }): Promise<Bought> {
  const { chain, side, heads } = ground;
  const made = { count: given.count, madeBefore: seller.signed };
  const orders = await signOrders(chain, side.seeded.goods, seller.shop.buyers, made);
  seller.signed += orders.length;
  const before = await seller.spent();
  const round = await buyAll(seller.url, seller.shop, orders, { atOnce: given.atOnce, heads });
  const after = await seller.spent();
  const { begun, delivered, transactions, ...figures } = round;
  seller.ordered.push(...begun);
  seller.delivered.push(...delivered);
  return {
    ...figures,
    delivered: delivered.length,
    failed: begun.length - delivered.length,
    spent: perOne(difference(before, after), delivered.length),
    gas: await readGas(chain, transactions),
  };
}

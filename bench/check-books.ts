import sql from 'sql-template-tag';
import { USDC_ADDRESS } from '../src/local/chain/accounts.ts';
import type { LocalChain } from '../src/local/chain/start-chain.ts';
import { type Log, readBlock, readLogs } from '../src/platform/chain/reads.ts';
import { addressTopic, decodeTransfer, TRANSFER_TOPIC } from '../src/platform/chain/usdc.ts';
import type { Database } from '../src/platform/database/database.ts';
import type { Hex } from '../src/platform/hex.ts';
import { payerAccount, stockPayerAccount } from './chain.ts';
import type { Order } from './orders.ts';
import { PAYERS } from './settings.ts';

/** Requests to one seller, and its deliveries. */
export interface Sales {
  ordered: readonly Order[];
  delivered: readonly Order[];
}

export interface Books {
  ordered: number;
  delivered: number;
  /** Number of deliveries whose price moved from payer to payee exactly once, by the chain's own log. */
  paidOnce: number;
}

export interface Verdict {
  market: Books;
  stock: Books;
  faults: string[];
}

interface BooksToCheck {
  chain: LocalChain;
  database: Database;
  market: Sales;
  stock: Sales;
  transfers: number;
}

const PAYER_ADDRESSES = Array.from({ length: PAYERS }, (_, n) => [payerAccount(n), stockPayerAccount(n)])
  .flat()
  .map(({ address }) => address);
/** Few enough blocks that their logs fit into one answer. */
const BLOCKS_AT_ONCE = 500n;

/** Compares deliveries with payments on the chain and with the market's books. A fast wrong answer is a failure. */
export async function checkBooks({ chain, database, market, stock, transfers }: BooksToCheck): Promise<Verdict> {
  const paid = await readPaid(chain);
  const books = { market: booksOf(market, paid), stock: booksOf(stock, paid) };
  const counted = await database.one<{
    completed: bigint;
    others: bigint;
    purchases: bigint;
    transactions: bigint;
  }>(sql`
    select (select count(*) from payments where status = 'completed') as completed,
      (select count(*) from payments where status <> 'completed') as others,
      (select count(*) from purchases where verified_via = 'x402') as purchases,
      (select count(distinct tx_hash) from purchases where verified_via = 'x402') as transactions`);
  const wanted = market.ordered.length;
  const ours = new Set<string>(Array.from({ length: PAYERS }, (_, n) => payerAccount(n).address));
  const moved = [...paid.values()].reduce((sum, { from, count }) => sum + (ours.has(from) ? count : 0), 0);
  const checks: [string, number, number][] = [
    ['deliveries', market.delivered.length, wanted],
    ['distinct purchases delivered', books.market.delivered, wanted],
    ['deliveries paid exactly once', books.market.paidOnce, wanted],
    ["transfers of the market's payers on the chain", moved, wanted + transfers],
    ['completed payments in the books', Number(counted.completed), wanted],
    ['other payments in the books', Number(counted.others), 0],
    ['purchases in the books', Number(counted.purchases), wanted],
    ['transactions in the books', Number(counted.transactions), wanted],
    ['deliveries of the stock seller paid exactly once', books.stock.paidOnce, stock.delivered.length],
  ];
  return {
    ...books,
    faults: checks
      .filter(([, found, due]) => found !== due)
      .map(([what, found, due]) => `${what}: ${found}, not ${due}`),
  };
}

type Paid = Map<string, { from: Hex; count: number }>;

async function readPaid(chain: LocalChain): Promise<Paid> {
  const latest = (await readBlock(chain.rpc, 'latest'))?.number ?? 0n;
  const paid: Paid = new Map();
  for (let fromBlock = 0n; fromBlock <= latest; fromBlock += BLOCKS_AT_ONCE) {
    const toBlock = fromBlock + BLOCKS_AT_ONCE - 1n;
    for (const log of await readTransfers(chain, fromBlock, toBlock < latest ? toBlock : latest)) {
      const transfer = decodeTransfer(log);
      if (transfer === null) continue;
      const name = nameOf(transfer.from, transfer.to, transfer.value);
      paid.set(name, { from: transfer.from, count: (paid.get(name)?.count ?? 0) + 1 });
    }
  }
  return paid;
}

function readTransfers(chain: LocalChain, fromBlock: bigint, toBlock: bigint): Promise<Log[]> {
  const topics = [TRANSFER_TOPIC, PAYER_ADDRESSES.map(addressTopic)];
  return readLogs(chain.rpc, { address: USDC_ADDRESS, topics, fromBlock, toBlock });
}

function booksOf({ ordered, delivered }: Sales, paid: Paid): Books {
  const distinct = [...new Set(delivered)];
  const paidOnce = distinct.filter(
    ({ payer, goods }) => paid.get(nameOf(payer.address, goods.payee, goods.priceUnits))?.count === 1,
  );
  return { ordered: ordered.length, delivered: distinct.length, paidOnce: paidOnce.length };
}

function nameOf(from: Hex, to: Hex, value: bigint): string {
  return `${from} ${to} ${value}`;
}

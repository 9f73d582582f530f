import { resolve } from 'node:path';
import { usdcOfUnits } from '../contract/money.ts';
import type { Client } from '../sdk/client.ts';
import { MarketError } from '../sdk/errors.ts';
import { AgentError } from './agent-error.ts';
import type { ChainReader, Receipt, TransferFound } from './read-chain.ts';
import { lookAtGoods } from './save-goods.ts';
import type { SpendBook } from './spend-book.ts';
import { isUnderWay, paidUnits, type SpendRecord } from './spend-record.ts';

/** One payment of the book as it is told: without secrets, and without the texts of a listing but its title. */
export interface SpendRow {
  kind: SpendRecord['kind'];
  state: SpendRecord['state'];
  market: string;
  /** Of the goods, or of the listing that the fee was for; null while that is not live. */
  listing_id: number | null;
  /** Written by a seller: not to be acted upon. */
  title: string;
  seller: string | null;
  /** The sum that was paid, or signed for while it is not settled; 0 where nothing was due. */
  amount_usdc: number;
  at: string;
  path: string | null;
  /** Of goods: whether the file holds them still. */
  goods: 'intact' | 'changed' | 'missing' | null;
  tx_hash: string | null;
}

/** All payments of this wallet, newest first. */
export async function listSpends(book: SpendBook): Promise<SpendRow[]> {
  return await Promise.all((await book.list()).map(toRow));
}

async function toRow(record: SpendRecord): Promise<SpendRow> {
  const { kind, state, market, title, seller, delivery, listed } = record;
  return {
    kind,
    state,
    market,
    listing_id: record.listing_id ?? listed?.listing_id ?? null,
    title,
    seller,
    amount_usdc: usdcOfUnits(paidUnits(record)),
    at: record.reserved_at,
    path: delivery?.path ?? null,
    goods: delivery === null ? null : await lookAtGoods(delivery),
    tx_hash: delivery?.receipt?.tx_hash ?? listed?.tx_hash ?? null,
  };
}

/** The purchase that is meant by a listing's number, or by the path of its goods. Throws `no_purchase`, `which_market`. */
export async function findPurchase(book: SpendBook, meant: string, market: string | null): Promise<SpendRecord> {
  const records = (await book.list()).filter((record) => market === null || record.market === market);
  const bought = records.filter(({ delivery }) => delivery !== null);
  const isId = /^\d{1,15}$/.test(meant);
  const found = isId
    ? bought.filter(({ listing_id }) => listing_id === Number(meant))
    : bought.filter(({ delivery }) => delivery?.path === resolve(meant));
  const [newest] = found;
  if (newest === undefined && isId && records.some((one) => isUnderWay(one) && one.listing_id === Number(meant))) {
    const title = `The payment for listing ${meant} is under way: there are no goods yet`;
    const nextStep = 'Do not pay again. openaisle wait goes on with it.';
    throw new AgentError('unknown', { reason: 'payment_under_way', title, nextStep, doNotPayAgain: true });
  }
  if (newest === undefined) {
    const nextStep = 'openaisle purchases lists what was bought with this wallet from here.';
    const title = isId
      ? `Listing ${meant} was not bought with this wallet`
      : `${meant} is none of the goods bought here`;
    throw new AgentError('wrong_use', { reason: 'no_purchase', title, nextStep });
  }
  const markets = new Set(found.map((record) => record.market));
  if (markets.size === 1) return newest;
  const title = `Listing ${meant} was bought at ${[...markets].join(' and ')}`;
  throw new AgentError('wrong_use', { reason: 'which_market', title, nextStep: 'Name one by --market.' });
}

/** What the market says of the receipt's transaction. */
export interface MarketWord {
  status: 'agrees' | 'differs' | 'unknown';
  detail: string;
}

export interface GoodsReport {
  listing_id: number;
  path: string;
  commitment: string;
  /** The file against the commitment that the listing published. */
  goods: 'intact' | 'changed' | 'missing';
  receipt: Receipt | null;
  /** Null: free goods, or it was not asked. */
  market: MarketWord | null;
  /** Null: free goods, or no RPC address was given. */
  chain: TransferFound | null;
  /** Everything that was looked at is as it should be. */
  ok: boolean;
}

/**
 * Checks bought goods: the file against the commitment, the receipt against the market, and with a chain against that. A caller that asks
 * the chain need not trust the market. Throws `no_purchase` for a record without goods, and what client and chain throw.
 */
export async function verifyGoods(
  record: SpendRecord,
  { client, chain }: { client?: Client | undefined; chain?: ChainReader | undefined },
): Promise<GoodsReport> {
  const { delivery, listing_id } = record;
  if (delivery === null || listing_id === null)
    throw new AgentError('wrong_use', { reason: 'no_purchase', title: 'This record holds no goods' });
  const { path, commitment, receipt } = delivery;
  const goods = await lookAtGoods(delivery);
  const market = client === undefined || receipt === null ? null : await askMarket(client, listing_id, receipt);
  const found = chain === undefined || receipt === null ? null : await chain.findTransfer(receipt);
  const paid = receipt === null || fitsRecord(record, receipt);
  const ok =
    goods === 'intact' && paid && (market?.status ?? 'agrees') === 'agrees' && (found?.status ?? 'final') === 'final';
  return { listing_id, path, commitment, goods, receipt, market, chain: found, ok };
}

/** The receipt is the market's word: it must speak of what was set aside. */
function fitsRecord({ payee, network, amount_units }: SpendRecord, receipt: Receipt): boolean {
  const same = receipt.payee.toLowerCase() === payee.toLowerCase() && receipt.network === network;
  // Bought elsewhere with the same wallet, and only collected from here: then nothing was set aside.
  return same && (amount_units === '0' || receipt.amount_units === amount_units);
}

async function askMarket(client: Client, listingId: number, receipt: Receipt): Promise<MarketWord> {
  try {
    const { payment } = (await client.getPayment({ query: { tx_hash: receipt.tx_hash } })).body;
    const { payment_status, block_number } = payment;
    const detail = `${payment_status}, listing ${payment.listing_id}, block ${block_number}`;
    const agrees =
      payment_status === 'completed' && payment.listing_id === listingId && block_number === receipt.block_number;
    return { status: agrees ? 'agrees' : 'differs', detail };
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'payment_not_found')
      return { status: 'unknown', detail: 'the market has no payment of this transaction' };
    throw error;
  }
}

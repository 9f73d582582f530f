import { named, type OwnWords, own } from '../contract/own-words.ts';
import type { Client } from '../sdk/client.ts';
import { MarketError, UnreadableAnswer } from '../sdk/errors.ts';
import { AgentError } from './agent-error.ts';
import type { ChainReader, Receipt, TransferFound } from './read-chain.ts';
import { lookAtGoods } from './save-goods.ts';
import type { SpendBook } from './spend-book.ts';
import { isFree, isVerified, type SpendRecord } from './spend-record.ts';

/** The market's word on a receipt's transaction, or on the goods that a listing promises. */
export interface MarketWord {
  status: 'agrees' | 'differs' | 'unknown';
  detail: OwnWords;
}

export interface GoodsReport {
  listing_id: number;
  path: string;
  commitment: string;
  /** The file against the commitment. */
  goods: 'intact' | 'changed' | 'missing';
  receipt: Receipt | null;
  /** The commitment against that of the listing; null: the market was not asked. */
  listing: MarketWord | null;
  /** Null: free goods, or it was not asked. */
  market: MarketWord | null;
  /** Null: free goods, or no RPC address was given. */
  chain: TransferFound | null;
  /** Everything that was looked at is as it should be. */
  ok: boolean;
}

/**
 * Checks bought goods: the file against its commitment, the commitment against the listing, the receipt against the market, and with a
 * chain against that. A caller that asks the chain need not trust the market's word for the payment. Throws `no_purchase` for a record
 * without goods, and what client and chain throw.
 */
export async function verifyGoods(
  record: SpendRecord,
  { client, chain }: { client?: Client | undefined; chain?: ChainReader | undefined },
): Promise<GoodsReport> {
  const { delivery, listing_id } = record;
  if (delivery === null || listing_id === null)
    throw new AgentError('wrong_use', { reason: 'no_purchase', title: own`This record holds no goods` });
  const { path, commitment, receipt } = delivery;
  const goods = await lookAtGoods(delivery);
  const listing = client === undefined ? null : await askListing(client, listing_id, commitment);
  const market = client === undefined || receipt === null ? null : await askPayment(client, listing_id, receipt);
  const found = chain === undefined || receipt === null ? null : await chain.findTransfer(receipt);
  const isPaid = receipt === null || fitsRecord(record, receipt);
  const isMarketFine = (market?.status ?? 'agrees') === 'agrees' && isPromised(record, listing);
  const ok = goods === 'intact' && isPaid && isMarketFine && (found?.status ?? 'final') === 'final';
  return { listing_id, path, commitment, goods, receipt, listing, market, chain: found, ok };
}

/** Goods that this book took in were held against the listing then: free ones may have been edited since, and a market may have lost others. */
function isPromised(record: SpendRecord, listing: MarketWord | null): boolean {
  if (listing?.status === 'agrees') return true;
  return isVerified(record) && (listing?.status !== 'differs' || isFree(record));
}

/** The receipt is the market's word: it must speak of what was set aside. */
function fitsRecord({ payee, network, amount_units }: SpendRecord, receipt: Receipt): boolean {
  const same = receipt.payee.toLowerCase() === payee.toLowerCase() && receipt.network === network;
  // Bought elsewhere with the same wallet, and only collected from here: then nothing was set aside.
  return same && (amount_units === '0' || receipt.amount_units === amount_units);
}

async function askListing(client: Client, id: number, commitment: string): Promise<MarketWord> {
  try {
    const { listing } = (await client.getListing({ params: { id }, query: { comments_limit: 1 } })).body;
    if (listing.artifact_commitment === commitment) return { status: 'agrees', detail: own`it promises these goods` };
    return { status: 'differs', detail: own`the listing promises other goods` };
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'not_found')
      return { status: 'unknown', detail: own`the market has no such listing` };
    throw error;
  }
}

async function askPayment(client: Client, listingId: number, receipt: Receipt): Promise<MarketWord> {
  try {
    const { payment } = (await client.getPayment({ query: { tx_hash: receipt.tx_hash } })).body;
    const { payment_status, block_number } = payment;
    const detail = own`${named(payment_status)}, listing ${payment.listing_id ?? own`none`}, block ${block_number ?? own`none`}`;
    const agrees =
      payment_status === 'completed' && payment.listing_id === listingId && block_number === receipt.block_number;
    return { status: agrees ? 'agrees' : 'differs', detail };
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'payment_not_found')
      return { status: 'unknown', detail: own`the market has no payment of this transaction` };
    throw error;
  }
}

/** Why a record's goods cannot be called what the listing promised, in our own words; null: the market confirms them. */
export async function whyNotVerified(record: SpendRecord, client: Client): Promise<OwnWords | null> {
  let report: GoodsReport;
  try {
    report = await verifyGoods(record, { client });
  } catch (error) {
    if (error instanceof MarketError || error instanceof UnreadableAnswer) return own`the market could not be asked`;
    throw error;
  }
  const { ok, goods, listing, market } = report;
  if (ok) return null;
  if (goods !== 'intact') return own`the file is ${named(goods)}`;
  const word = [listing, market].find((one) => one !== null && one.status !== 'agrees');
  return word?.detail ?? own`the receipt is of another payment`;
}

/** Keeps that the market confirmed a record which an import brought, unless a later one has taken its place. */
export async function keepVerified(book: Pick<SpendBook, 'hold'>, record: SpendRecord): Promise<void> {
  const { key, sequence } = record;
  if (isVerified(record)) return;
  await book.hold(key, async (spend) => {
    if (spend.record?.sequence === sequence) await spend.noteVerified();
  });
}

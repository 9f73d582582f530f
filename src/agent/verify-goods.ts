import { named, type OwnWords, own } from '../contract/own-words.ts';
import type { Client } from '../sdk/client.ts';
import { MarketError, UnreadableAnswer } from '../sdk/errors.ts';
import { AgentError } from './agent-error.ts';
import type { ChainReader, Receipt, TransferFound } from './read-chain.ts';
import { checkGoodsFile } from './save-goods.ts';
import type { SpendBook } from './spend-book.ts';
import { isFree, isVerified, type SpendRecord } from './spend-record.ts';

/** Result of checking a receipt or a commitment with the market. */
export interface MarketCheck {
  status: 'agrees' | 'differs' | 'unknown';
  detail: OwnWords;
}

export interface GoodsReport {
  listing_id: number;
  path: string;
  commitment: string;
  /** Result of comparing the file with the commitment. */
  goods: 'intact' | 'changed' | 'missing';
  receipt: Receipt | null;
  /** Result of comparing the commitment with the listing's. Null if not checked. */
  listing: MarketCheck | null;
  /** Result of comparing the receipt with the market's books. Null for free goods, or if not checked. */
  market: MarketCheck | null;
  /** Result of comparing the receipt with the chain. Null for free goods, or without an RPC endpoint. */
  chain: TransferFound | null;
  ok: boolean;
}

/**
 * Checks bought goods: file against commitment, commitment against listing, receipt against the market and, if given, the chain. With a
 * chain the caller need not trust the market about the payment. Throws `no_purchase` for a record without goods, and what client and chain
 * throw.
 */
export async function verifyGoods(
  record: SpendRecord,
  { client, chain }: { client?: Client | undefined; chain?: ChainReader | undefined },
): Promise<GoodsReport> {
  const { delivery, listing_id } = record;
  if (delivery === null || listing_id === null)
    throw new AgentError('wrong_use', { reason: 'no_purchase', title: own`This record has no goods` });
  const { path, commitment, receipt } = delivery;
  const goods = await checkGoodsFile(delivery);
  const listing = client === undefined ? null : await askListing(client, listing_id, commitment);
  const market = client === undefined || receipt === null ? null : await askPayment(client, listing_id, receipt);
  const transfer = chain === undefined || receipt === null ? null : await chain.findTransfer(receipt);
  const isPaid = receipt === null || fitsRecord(record, receipt);
  const isMarketFine = (market?.status ?? 'agrees') === 'agrees' && isListingFine(record, listing);
  const ok = goods === 'intact' && isPaid && isMarketFine && (transfer?.status ?? 'final') === 'final';
  return { listing_id, path, commitment, goods, receipt, listing, market, chain: transfer, ok };
}

/** Verified goods matched their listing on arrival. Later, free goods may be edited, and the market may lose the listing. */
function isListingFine(record: SpendRecord, listing: MarketCheck | null): boolean {
  if (listing?.status === 'agrees') return true;
  return isVerified(record) && (listing?.status !== 'differs' || isFree(record));
}

/** Whether the market's receipt describes the payment in the record. */
function fitsRecord({ payee, network, amount_units }: SpendRecord, receipt: Receipt): boolean {
  const same = receipt.payee.toLowerCase() === payee.toLowerCase() && receipt.network === network;
  // 0 means bought elsewhere with this wallet and only collected here, so nothing was reserved.
  return same && (amount_units === '0' || receipt.amount_units === amount_units);
}

async function askListing(client: Client, id: number, commitment: string): Promise<MarketCheck> {
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

async function askPayment(client: Client, listingId: number, receipt: Receipt): Promise<MarketCheck> {
  try {
    const { payment } = (await client.getPayment({ query: { tx_hash: receipt.tx_hash } })).body;
    const { payment_status, block_number } = payment;
    const detail = own`${named(payment_status)}, listing ${payment.listing_id ?? own`none`}, block ${block_number ?? own`none`}`;
    const agrees =
      payment_status === 'completed' && payment.listing_id === listingId && block_number === receipt.block_number;
    return { status: agrees ? 'agrees' : 'differs', detail };
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'payment_not_found')
      return { status: 'unknown', detail: own`the market has no payment with this transaction` };
    throw error;
  }
}

/** Explains why the market doesn't confirm a record's goods. Returns null if it does. */
export async function whyNotVerified(record: SpendRecord, client: Client): Promise<OwnWords | null> {
  let report: GoodsReport;
  try {
    report = await verifyGoods(record, { client });
  } catch (error) {
    if (error instanceof MarketError || error instanceof UnreadableAnswer) return own`the market couldn’t be asked`;
    throw error;
  }
  const { ok, goods, listing, market } = report;
  if (ok) return null;
  if (goods !== 'intact') return own`the file is ${named(goods)}`;
  const word = [listing, market].find((one) => one !== null && one.status !== 'agrees');
  return word?.detail ?? own`the receipt is for another payment`;
}

/** Marks an imported record as confirmed by the market, unless a later one has replaced it. */
export async function markVerified(book: Pick<SpendBook, 'hold'>, record: SpendRecord): Promise<void> {
  const { key, sequence } = record;
  if (isVerified(record)) return;
  await book.hold(key, async (spend) => {
    if (spend.record?.sequence === sequence) await spend.noteVerified();
  });
}

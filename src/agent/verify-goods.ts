import type { Client } from '../sdk/client.ts';
import { MarketError } from '../sdk/errors.ts';
import { AgentError } from './agent-error.ts';
import type { ChainReader, Receipt, TransferFound } from './read-chain.ts';
import { lookAtGoods } from './save-goods.ts';
import type { SpendRecord } from './spend-record.ts';

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
 * Checks bought goods: the file against the commitment, the receipt against the market, and with a chain against that. Whoever asks
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

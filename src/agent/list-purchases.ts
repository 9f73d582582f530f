import { resolve } from 'node:path';
import { usdcOfUnits } from '../contract/money.ts';
import { formed, joined, ofOwner, own } from '../contract/own-words.ts';
import { AgentError } from './agent-error.ts';
import { lookAtGoods } from './save-goods.ts';
import type { SpendBook } from './spend-book.ts';
import { isUnderWay, isVerified, paidUnits, type SpendRecord } from './spend-record.ts';

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
  /** False: an import brought it, and neither its wallet nor the market has confirmed it. Null while it is not settled. */
  verified: boolean | null;
}

/** All payments of this wallet, newest first. */
export async function listSpends(book: SpendBook): Promise<SpendRow[]> {
  return await Promise.all((await book.list()).map(toRow));
}

async function toRow(record: SpendRecord): Promise<SpendRow> {
  const { kind, state, market, title, seller, delivery, listed } = record;
  const hash = delivery?.receipt?.tx_hash ?? listed?.tx_hash ?? null;
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
    tx_hash: hash === null ? null : formed('hash', hash),
    verified: state === 'settled' ? isVerified(record) : null,
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
    const title = own`The payment for listing ${ofOwner(meant)} is under way: there are no goods yet`;
    const nextStep = own`Do not pay again. openaisle wait goes on with it.`;
    throw new AgentError('unknown', { reason: 'payment_under_way', title, nextStep, doNotPayAgain: true });
  }
  if (newest === undefined) {
    const nextStep = own`openaisle purchases lists what was bought with this wallet from here.`;
    const title = isId
      ? own`Listing ${ofOwner(meant)} was not bought with this wallet`
      : own`${ofOwner(meant)} is none of the goods bought here`;
    throw new AgentError('wrong_use', { reason: 'no_purchase', title, nextStep });
  }
  const markets = new Set(found.map((record) => record.market));
  if (markets.size === 1) return newest;
  const title = own`Listing ${ofOwner(meant)} was bought at more than one market: ${joined([...markets].map((one) => formed('origin', one)))}`;
  throw new AgentError('wrong_use', { reason: 'which_market', title, nextStep: own`Name one by --market.` });
}

import { resolve } from 'node:path';
import { usdcOfUnits } from '../contract/money.ts';
import { formed, joined, ofOwner, own } from '../contract/own-words.ts';
import { AgentError } from './agent-error.ts';
import { checkGoodsFile } from './save-goods.ts';
import type { SpendBook } from './spend-book.ts';
import { isUnderWay, isVerified, paidUnits, type SpendRecord } from './spend-record.ts';

/** A payment as shown to users. Contains no secrets, and no text of the listing except its title. */
export interface SpendRow {
  kind: SpendRecord['kind'];
  state: SpendRecord['state'];
  market: string;
  /** ID of the goods, or of the listing that a fee paid for. Null until that listing is live. */
  listing_id: number | null;
  /** Untrusted text of a seller. */
  title: string;
  seller: string | null;
  /** Amount paid, or signed for if the payment is not finished. 0 if nothing was due. */
  amount_usdc: number;
  at: string;
  path: string | null;
  /** State of the file on disk; null for fees. */
  goods: 'intact' | 'changed' | 'missing' | null;
  tx_hash: string | null;
  /** False for an import that neither the wallet's signature nor the market confirms. Null until finished. */
  verified: boolean | null;
}

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
    goods: delivery === null ? null : await checkGoodsFile(delivery),
    tx_hash: hash === null ? null : formed('hash', hash),
    verified: state === 'settled' ? isVerified(record) : null,
  };
}

/** Finds a purchase by listing ID or by the path of its goods. Throws `no_purchase`, `which_market`, `payment_under_way`. */
export async function findPurchase(book: SpendBook, idOrPath: string, market: string | null): Promise<SpendRecord> {
  const records = (await book.list()).filter((record) => market === null || record.market === market);
  const bought = records.filter(({ delivery }) => delivery !== null);
  const isId = /^\d{1,15}$/.test(idOrPath);
  const matches = isId
    ? bought.filter(({ listing_id }) => listing_id === Number(idOrPath))
    : bought.filter(({ delivery }) => delivery?.path === resolve(idOrPath));
  const [newest] = matches;
  if (newest === undefined && isId && records.some((one) => isUnderWay(one) && one.listing_id === Number(idOrPath))) {
    const title = own`The payment for listing ${ofOwner(idOrPath)} isn’t final yet, so there are no goods`;
    const nextStep = own`Do not pay again. Run openaisle wait to resume.`;
    throw new AgentError('unknown', { reason: 'payment_under_way', title, nextStep, doNotPayAgain: true });
  }
  if (newest === undefined) {
    const nextStep = own`Run openaisle purchases to list what this wallet bought from here.`;
    const title = isId
      ? own`This wallet didn’t buy listing ${ofOwner(idOrPath)} from here`
      : own`${ofOwner(idOrPath)} isn’t a file that was bought here`;
    throw new AgentError('wrong_use', { reason: 'no_purchase', title, nextStep });
  }
  const markets = new Set(matches.map((record) => record.market));
  if (markets.size === 1) return newest;
  const title = own`Listing ${ofOwner(idOrPath)} was bought at several markets: ${joined([...markets].map((one) => formed('origin', one)))}`;
  throw new AgentError('wrong_use', { reason: 'which_market', title, nextStep: own`Name one with --market.` });
}

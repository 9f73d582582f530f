import { usdcOfUnits } from '../contract/money.ts';
import type { Client } from '../sdk/client.ts';
import { type BoughtGoods, buyGoods } from './buy-goods.ts';
import { type SellGoodsOptions, type SoldGoods, sellGoods } from './sell-goods.ts';
import type { SpendOptions } from './spend-options.ts';
import { isUnderWay, type SpendRecord } from './spend-record.ts';

export type Finished =
  | { record: SpendRecord; bought: BoughtGoods }
  | { record: SpendRecord; sold: SoldGoods }
  | { record: SpendRecord; error: unknown };

export interface FinishOptions extends Omit<SpendOptions, 'client'> {
  /** Connects to the record's market, with the merchant's key if the record is a fee. */
  connect(record: SpendRecord): Promise<Client>;
  /** Selects payments in progress. Default: all of them. */
  isSelected?(record: SpendRecord): boolean;
  onBegin?(record: SpendRecord): void;
}

/** Resumes the book's signed, unfinished payments one by one. An error stops only its own payment. */
export async function finishSpends(options: FinishOptions): Promise<Finished[]> {
  const { connect, isSelected = isUnderWay, onBegin, ...shared } = options;
  const open = (await options.book.list()).filter((record) => isUnderWay(record) && isSelected(record));
  const finished: Finished[] = [];
  for (const record of open) {
    onBegin?.(record);
    try {
      finished.push(await resumeSpend(record, { ...shared, client: await connect(record) }));
    } catch (error) {
      finished.push({ record, error });
    }
  }
  return finished;
}

async function resumeSpend(record: SpendRecord, options: SpendOptions): Promise<Finished> {
  if (record.listing_id !== null) {
    // The signed sum is the limit.
    const maxPriceUsdc = usdcOfUnits(BigInt(record.amount_units));
    return { record, bought: await buyGoods({ ...options, listingId: record.listing_id, maxPriceUsdc }) };
  }
  // The record was written from a valid body, and the market validates it again.
  const listing = record.listing as SellGoodsOptions['listing'] | null;
  if (listing === null) throw new TypeError('the record holds no body of a listing');
  return { record, sold: await sellGoods({ ...options, listing, key: record.key }) };
}

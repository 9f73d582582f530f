import type { z } from 'zod';
import { checksummed } from '../../contract/chain-values.ts';
import type { Endpoints } from '../../contract/index.ts';
import type { reviewOut } from '../../contract/merchants.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { REVIEW_DAYS } from '../../contract/vocabulary.ts';
import { isoTime } from '../../platform/clock.ts';
import { inSnapshot, type Queryable } from '../../platform/database/database.ts';
import { readQuota } from '../../platform/database/quota.ts';
import { toHex } from '../../platform/hex.ts';
import { firstLine, presentDetail, presentOwnOutline, presentReply } from '../catalog/present-listing.ts';
import { type ListingRow, readListingsOf } from '../catalog/store.ts';
import type { Market, MarketOperation, Merchant } from '../context.ts';
import { findWaitingSet } from '../identity/store.ts';
import { type DailyQuota, dailyQuota } from '../limits/quotas.ts';
import { countCredits } from '../listings/fees/store.ts';
import { presentMerchant } from '../merchants/present-merchant.ts';
import { readMerchant } from '../merchants/store.ts';
import { readRemovalNotices } from '../moderation/appeals.ts';
import { listFurther, type ShownTransfer } from '../payments/paths/direct/further-store.ts';
import { readUnprovenReviews, type UnprovenReviewRow } from '../payments/paths/direct/unproven-store.ts';
import { readOwnHistory } from '../purchases/store.ts';
import { presentFlag } from '../reactions/raise-flag.ts';
import { readFlags } from '../reactions/store.ts';
import { type History, presentPurchase, presentSale, readHistory } from './purchase-history.ts';
import * as store from './store.ts';
import { type ReviewRow, readReviews } from './store.ts';

export const getMe: MarketOperation<Endpoints['getMe']> = async (market, call) => {
  const { query, caller } = call;
  const isOutline = query.fields === 'outline';
  const pageOf = (limit: number, beforeId: bigint | undefined): store.HistoryPage => ({
    merchantId: caller.id,
    limit,
    beforeId: beforeId ?? null,
  });
  const account = await inSnapshot(market.database, async (snapshot) => {
    const listings = await readHistory(
      snapshot,
      pageOf(query.listings_limit, query.listings_before_id),
      { readStart: store.readListingsStart, read: readListingsOf, cursorName: 'listings_before_id' },
      (row: ListingRow) => (isOutline ? presentOwnOutline(row) : presentDetail(row)),
    );
    const replies = await readHistory(
      snapshot,
      pageOf(query.replies_limit, query.replies_before_id),
      { readStart: store.readRepliesStart, read: store.readReplies, cursorName: 'replies_before_id' },
      isOutline ? (row) => shortenTexts(presentReply(row)) : presentReply,
    );
    return { summary: await readAccountSummary(market, snapshot, caller), listings, replies };
  });
  // Read trades last, so that a review decided meanwhile appears in at least one of the two lists.
  const trades = await readOwnHistory(market.database, caller.id, async (own) => {
    const sales = await readHistory(
      own,
      pageOf(query.sales_limit, query.sales_before_id),
      { readStart: store.readSalesStart, read: store.readSales, cursorName: 'sales_before_id' },
      presentSale,
    );
    const purchases = await readHistory(
      own,
      pageOf(query.purchases_limit, query.purchases_before_id),
      { readStart: store.readPurchasesStart, read: store.readPurchases, cursorName: 'purchases_before_id' },
      presentPurchase,
    );
    return { sales, purchases };
  });
  return {
    status: 200,
    body: {
      ...(isOutline ? summaryOutline(account.summary) : account.summary),
      ...pageSection('listings', account.listings, query.listings_limit),
      ...pageSection('sales', trades.sales, query.sales_limit),
      ...pageSection('purchases', trades.purchases, query.purchases_limit),
      ...pageSection('replies', account.replies, query.replies_limit),
    },
  };
};

/** Cuts every text to at most 120 characters of its first line. Ids, addresses and hashes are shorter and stay whole. */
function shortenTexts<T>(value: T): T {
  if (typeof value === 'string') return firstLine(value) as T;
  if (Array.isArray(value)) return value.map(shortenTexts) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shortenTexts(one)])) as T;
}

const SHOWN_IN_OUTLINE = 3;

type AccountSummary = Awaited<ReturnType<typeof readAccountSummary>>;

/** Shows the first few items of each list that has no pages, and counts the others. */
function summaryOutline({ reviews, removal_notices: notices, flags, ...rest }: AccountSummary) {
  const firstItems = <T>(all: readonly T[]): T[] => all.slice(0, SHOWN_IN_OUTLINE).map(shortenTexts);
  const countOthers = (all: readonly unknown[]): number => Math.max(0, all.length - SHOWN_IN_OUTLINE);
  return {
    ...rest,
    ...{ reviews: firstItems(reviews), removal_notices: firstItems(notices), flags: firstItems(flags) },
    left_out: { reviews: countOthers(reviews), removal_notices: countOthers(notices), flags: countOthers(flags) },
  };
}

type Section<Name extends string, Item> = { [K in Name]: Item[] } & {
  [K in `${Name}_${'total' | 'returned' | 'page_size'}`]: number;
} & { [K in `${Name}_has_more`]: boolean } & { [K in `${Name}_next_before_id`]: number | null };

function pageSection<Name extends string, Item>(name: Name, history: History<Item>, size: number): Section<Name, Item> {
  return {
    [name]: history.items,
    [`${name}_total`]: history.total,
    [`${name}_returned`]: history.items.length,
    [`${name}_page_size`]: size,
    [`${name}_has_more`]: history.hasMore,
    [`${name}_next_before_id`]: history.nextBeforeId,
  } as Section<Name, Item>;
}

/** Further reviews appear once some of these have ended, which takes weeks at most. */
const MAX_REVIEWS = 200;
const MAX_FURTHER_TRANSFERS = 20;
const MAX_FLAGS = 200;
const SHOWN_QUOTAS: readonly DailyQuota[] = [
  'guard_runs_per_merchant_day',
  'votes_per_merchant_day',
  'voices_per_merchant_day',
];

/** Reads the parts of a merchant's account that have no pages. Pass an open snapshot. */
async function readAccountSummary(market: Market, snapshot: Queryable, caller: Merchant) {
  const merchant = await readMerchant(snapshot, caller.id);
  if (merchant === null) throw new Error(`merchant ${caller.id} has a key and no row`);
  const reviews = await readReviews(snapshot, caller, MAX_REVIEWS);
  const ids = reviews.map(({ id }) => id);
  const further = Map.groupBy(await listFurther(snapshot, ids), ({ paymentId }) => paymentId);
  const unproven = await readUnprovenReviews(snapshot, caller, MAX_REVIEWS);
  const flags = caller.maintainer ? await readFlags(snapshot, MAX_FLAGS) : [];
  const shown = presentMerchant(merchant);
  return {
    handle: shown.handle,
    merchant: shown,
    credits: Number(await countCredits(snapshot, caller.id)),
    reviews: [...reviews.map((row) => presentReview(row, further.get(row.id) ?? [])), ...presentUnproven(unproven)],
    removal_notices: await readRemovalNotices(snapshot, caller.id),
    flags: flags.map(presentFlag),
    quotas: await readQuotas(market, snapshot, caller.id),
    pending_codes: await readPendingCodes(market, snapshot, caller.id),
  };
}

async function readQuotas(market: Market, snapshot: Queryable, merchantId: bigint) {
  const now = market.clock.now();
  const quotas = SHOWN_QUOTAS.map(async (name) => {
    const { limit, used, resetsAt } = await readQuota(snapshot, now, dailyQuota(market, name, merchantId));
    return [name, { limit, used, resets_at: isoTime(resetsAt) }] as const;
  });
  return Object.fromEntries(await Promise.all(quotas));
}

async function readPendingCodes({ clock }: Market, snapshot: Queryable, merchantId: bigint) {
  const validAt = await findWaitingSet(snapshot, merchantId, new Date(clock.now()));
  return validAt === null ? null : { valid_at: isoTime(validAt) };
}

const DAY_MS = 86_400_000;

function presentReview(row: ReviewRow, further: readonly ShownTransfer[]): z.input<typeof reviewOut> {
  return {
    payment_id: Number(row.id),
    purpose: row.purpose,
    listing_id: row.listing_id === null ? null : Number(row.listing_id),
    reason: row.end_reason,
    payer_wallet: checksummed(toHex(row.payer)),
    payee_wallet: checksummed(toHex(row.payee)),
    asked_usdc: usdcOfUnits(row.asked_units),
    received_usdc: usdcOfUnits(row.received_units),
    tx_hash: row.tx_hash && toHex(row.tx_hash),
    block_time: row.block_time && isoTime(row.block_time),
    decide_by: isoTime(row.ended_at.getTime() + REVIEW_DAYS * DAY_MS),
    further_transfers: further
      .slice(0, MAX_FURTHER_TRANSFERS)
      .map(({ txHash, valueUnits, blockNumber, isClaimed }) => ({
        tx_hash: txHash,
        amount_usdc: valueUnits === null ? null : usdcOfUnits(valueUnits),
        block_number: blockNumber === null ? null : Number(blockNumber),
        claimed: isClaimed,
      })),
  };
}

const UNPROVEN_WARNING = 'This merchant has not shown that the wallet is its own.';

/** Presents claims without a proving signature. Claims on the same transaction refer to each other. */
function presentUnproven(rows: readonly UnprovenReviewRow[]): z.input<typeof reviewOut>[] {
  const byTransaction = Map.groupBy(rows, (row) => toHex(row.tx_hash));
  return rows.map((row) => {
    const txHash = toHex(row.tx_hash);
    const others = byTransaction.get(txHash)?.filter(({ id }) => id !== row.id) ?? [];
    return {
      payment_id: Number(row.id),
      purpose: row.purpose,
      listing_id: row.listing_id === null ? null : Number(row.listing_id),
      reason: 'payer_unproven',
      payer_wallet: checksummed(toHex(row.payer)),
      payee_wallet: checksummed(toHex(row.payee)),
      asked_usdc: usdcOfUnits(row.asked_units),
      received_usdc: usdcOfUnits(row.received_units),
      tx_hash: txHash,
      block_time: isoTime(row.block_time),
      decide_by: isoTime(row.created_at.getTime() + REVIEW_DAYS * DAY_MS),
      unproven: {
        merchant: row.handle,
        warning: UNPROVEN_WARNING,
        exact_amount: row.exact_units === null ? null : row.exact_units === row.received_units,
        same_transaction: others.map(({ id }) => Number(id)),
      },
    };
  });
}

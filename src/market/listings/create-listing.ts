import type { AnswerOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Market, MarketCall, MarketOperation } from '../context.ts';
import type { Payment } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { addListing } from './add-listing.ts';
import { answerListRequest } from './answer-list-request.ts';
import { checkGoods, checkVersion, duplicateRefusal, type GoodsRequest, takeGuardRun } from './check-goods.ts';
import { countCredits } from './fees/store.ts';
import { bodyBytes, type ListedKind, type ListRequest, readFeePayment } from './list-request.ts';
import type { Fingerprint } from './near/fingerprint.ts';
import { guardKeyOf, REPEAT_WINDOW_MS, readGoods, readVersion } from './read-goods.ts';
import { findGuard, insertPending, lockListingKeys, takeGuardEntry } from './store.ts';

type CreateCall = MarketCall<Endpoints['createListing']>;

export function makeCreateListing(payments: Payments): MarketOperation<Endpoints['createListing']> {
  return async (market, call) => {
    const request = readRequest(market, call);
    if (call.query.dry_run === 'true') return await dryRun(market, request);
    return await answerListRequest(market, payments, request);
  };
}

function readRequest(market: Market, call: CreateCall): ListRequest {
  const { fee_payment: _, pay_anew: __, ...body } = call.body;
  const goods = readGoods(body, market.config.limits);
  const { rawBody, ...paying } = readFeePayment(call);
  const merchant = call.caller;
  const guardKey = guardKeyOf(goods, merchant.id);
  const request: GoodsRequest = {
    merchant,
    goods,
    version: readVersion(body),
    rawBody,
    bodyHash: paying.bodyHash,
    guardKey,
  };
  return { merchant, ...paying, subject: goodsToList(market, request) };
}

async function dryRun(
  market: Market,
  { merchant, subject }: ListRequest,
): Promise<AnswerOf<Endpoints['createListing']>> {
  await subject.check();
  const free = merchant.maintainer || (await countCredits(market.database, merchant.id)) > 0n;
  return { status: 200, body: { dry_run: true, would_cost_usdc: free ? 0 : usdcOfUnits(LISTING_FEE_UNITS) } };
}

function goodsToList(market: Market, request: GoodsRequest): ListedKind {
  return {
    path: '/api/listing',
    noun: 'goods',
    unlistable: 'duplicate_listing',
    check: async () => {
      await takeGuardRun(market, request);
      const fingerprint = await checkGoods(market, request);
      return {
        hold: (tx, payment) => reserveGoods(tx, market, request, payment),
        list: (tx, feeId) => listGoods(tx, market, request, { fingerprint, feeId }),
      };
    },
  };
}

/** Takes the guard entry of the goods and stores their exact body, for a payment that was just opened. */
export async function reserveGoods(tx: Tx, market: Market, request: GoodsRequest, payment: Payment): Promise<void> {
  const versionChain = await checkVersion(tx, request.merchant.id, request.version);
  // Lock listings before the guard's row, which may belong to an older version. An edit takes the same order.
  await lockListingKeys(tx, versionChain);
  const now = market.clock.now();
  await holdEntry(tx, request, { listingId: null, paymentId: payment.id }, { until: 'infinity', now, versionChain });
  await insertPending(tx, payment.id, request.merchant.id, { body: bodyBytes(request.rawBody), draftId: null });
}

async function listGoods(
  tx: Tx,
  market: Market,
  request: GoodsRequest,
  { fingerprint, feeId }: { fingerprint: Fingerprint | null; feeId: bigint | null },
): Promise<bigint> {
  const { merchant, goods, version, bodyHash } = request;
  const { id, versionChain } = await addListing(tx, market, {
    merchantId: merchant.id,
    goods,
    fingerprint,
    version,
    bodyHash,
    feeId,
  });
  const now = market.clock.now();
  await holdEntry(
    tx,
    request,
    { listingId: id, paymentId: null },
    { until: new Date(now + REPEAT_WINDOW_MS), now, versionChain },
  );
  return id;
}

async function holdEntry(
  tx: Tx,
  { merchant, guardKey }: GoodsRequest,
  by: { listingId: bigint | null; paymentId: bigint | null },
  term: { until: Date | 'infinity'; now: number; versionChain: readonly bigint[] },
): Promise<void> {
  const now = new Date(term.now);
  const owner = { merchantId: merchant.id, ...by };
  if (await takeGuardEntry(tx, guardKey, owner, { ...term, now })) return;
  throw duplicateRefusal(merchant.id, (await findGuard(tx, guardKey, now)) ?? owner);
}

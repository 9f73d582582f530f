import type { AnswerOf } from '../../contract/endpoint.ts';
import type { Endpoints } from '../../contract/index.ts';
import { usdcOfUnits } from '../../contract/money.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market, MarketCall, MarketOperation } from '../context.ts';
import { holdUpload } from '../goods/uploads/store.ts';
import type { Payment } from '../payments/payment.ts';
import type { Payments } from '../payments/payments.ts';
import { addListing } from './add-listing.ts';
import { answerListRequest } from './answer-list-request.ts';
import { checkGoods, checkVersion, duplicateRefusal, type GoodsRequest, takeGuardRun } from './check-goods.ts';
import { countCredits } from './fees/store.ts';
import { bodyBytes, type ListedKind, type ListRequest, readFeePayment } from './list-request.ts';
import { lockUploaded, lostUpload, readNamedUpload, uploadIdOf } from './named-upload.ts';
import type { Fingerprint } from './near/fingerprint.ts';
import { guardKeyOf, inlineLimits, mustNameGoodsOnce, REPEAT_WINDOW_MS, readGoods, readVersion } from './read-goods.ts';
import { findGuard, insertPending, lockListingKeys, takeGuardEntry } from './store.ts';

type CreateCall = MarketCall<Endpoints['createListing']>;

export function makeCreateListing(payments: Payments): MarketOperation<Endpoints['createListing']> {
  return async (market, call) => {
    const request = await readRequest(market, call);
    if (call.query.dry_run === 'true') return await dryRun(market, request);
    return await answerListRequest(market, payments, request);
  };
}

async function readRequest(market: Market, call: CreateCall): Promise<ListRequest> {
  const { fee_payment: _, pay_anew: __, ...body } = call.body;
  const merchant = call.caller;
  mustNameGoodsOnce(call.rawBody as typeof body);
  const named =
    body.artifact_upload === undefined ? null : await readNamedUpload(market, merchant.id, body.artifact_upload);
  const { rawBody, ...paying } = readFeePayment(call, named?.sha256);
  if (named?.found instanceof Refusal) return { merchant, ...paying, subject: refusedGoods(named.found) };
  const goods = readGoods(body, inlineLimits(market.config.limits), named?.found);
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

const GOODS = { path: '/api/listing', noun: 'goods', unlistable: 'duplicate_listing' } as const;

/** Goods whose upload cannot be listed. An earlier identical request is answered nevertheless. */
function refusedGoods(refusal: Refusal): ListedKind {
  return {
    ...GOODS,
    check: async () => {
      throw refusal;
    },
  };
}

function goodsToList(market: Market, request: GoodsRequest): ListedKind {
  return {
    ...GOODS,
    check: async () => {
      await takeGuardRun(market, request);
      const fingerprint = await checkGoods(market, request);
      return {
        hold: (tx, payment) => reserveGoods(tx, market, request, { payment, fingerprint }),
        list: (tx, feeId) => listGoods(tx, market, request, { fingerprint, feeId }),
      };
    },
  };
}

/** Takes upload and guard entry of the goods and stores their exact body, for a payment that was just opened. */
export async function reserveGoods(
  tx: Tx,
  market: Market,
  request: GoodsRequest,
  { payment, fingerprint }: { payment: Payment; fingerprint: Fingerprint | null },
): Promise<void> {
  const isUpload = await holdUploaded(tx, market, request, payment.id);
  const versionChain = await checkVersion(tx, request.merchant.id, request.version);
  // Lock listings before the guard's row, which may belong to an older version. An edit takes the same order.
  await lockListingKeys(tx, versionChain);
  const now = market.clock.now();
  await holdEntry(tx, request, { listingId: null, paymentId: payment.id }, { until: 'infinity', now, versionChain });
  const shape = isUpload ? fingerprint : null;
  await insertPending(tx, payment.id, request.merchant.id, { body: bodyBytes(request.rawBody), draftId: null, shape });
}

/** Hands uploaded bytes to a fee, so that they neither expire nor are listed otherwise. Returns false for goods that are a string. */
async function holdUploaded(tx: Tx, market: Market, request: GoodsRequest, paymentId: bigint): Promise<boolean> {
  const id = uploadIdOf(request.goods.content);
  if (id === null) return false;
  const now = new Date(market.clock.now());
  if (await holdUpload(tx, id, paymentId, now)) return true;
  throw await lostUpload(tx, request.merchant.id, { id, now });
}

async function listGoods(
  tx: Tx,
  market: Market,
  request: GoodsRequest,
  { fingerprint, feeId }: { fingerprint: Fingerprint | null; feeId: bigint | null },
): Promise<bigint> {
  const { merchant, goods, version, bodyHash } = request;
  await lockUploaded(tx, market, merchant.id, goods.content);
  const { id, versionChain } = await addListing(tx, market, {
    merchantId: merchant.id,
    goods,
    fingerprint,
    version,
    bodyHash,
    feeId,
    heldBy: null,
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

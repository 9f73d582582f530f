import type { Tx } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import type { Payment } from '../payments/payment.ts';
import { addListing } from './add-listing.ts';
import { checkGoods, duplicate, type GoodsRequest, takeGuardRun } from './check-goods.ts';
import { checkVersion } from './check-version.ts';
import { bodyBytes, type Subject } from './list-request.ts';
import { MEMORY_MS } from './memory.ts';
import type { Shape } from './near/shape.ts';
import { findGuard, holdGuard, insertPending, keepListings } from './store.ts';

/** Goods as what a fee is paid for. */
export function goodsToList(market: Market, request: GoodsRequest): Subject {
  return {
    path: '/api/listing',
    noun: 'goods',
    unlistable: 'duplicate_listing',
    check: async () => {
      await takeGuardRun(market, request);
      const shape = await checkGoods(market, request);
      return {
        hold: (tx, payment) => holdGoods(tx, market, request, payment),
        list: (tx, feeId) => listGoods(tx, market, request, { shape, feeId }),
      };
    },
  };
}

/** The place of the goods and their exact body, for a payment that was just opened. */
export async function holdGoods(tx: Tx, market: Market, request: GoodsRequest, payment: Payment): Promise<void> {
  const line = await checkVersion(tx, request.merchant.id, request.version);
  // Before the guard's row, which may be one of theirs: an edit too has its listing first and then moves the guard.
  await keepListings(tx, line);
  const now = market.clock.now();
  await holdPlace(tx, request, { listingId: null, paymentId: payment.id }, { until: 'infinity', now, line });
  await insertPending(tx, payment.id, request.merchant.id, { body: bodyBytes(request.rawBody), draftId: null });
}

async function listGoods(
  tx: Tx,
  market: Market,
  request: GoodsRequest,
  { shape, feeId }: { shape: Shape | null; feeId: bigint | null },
): Promise<bigint> {
  const { merchant, goods, version, bodyHash } = request;
  const { id, line } = await addListing(tx, market, {
    merchantId: merchant.id,
    goods,
    shape,
    version,
    bodyHash,
    feeId,
  });
  const now = market.clock.now();
  await holdPlace(tx, request, { listingId: id, paymentId: null }, { until: new Date(now + MEMORY_MS), now, line });
  return id;
}

async function holdPlace(
  tx: Tx,
  { merchant, guardKey }: GoodsRequest,
  by: { listingId: bigint | null; paymentId: bigint | null },
  term: { until: Date | 'infinity'; now: number; line: readonly bigint[] },
): Promise<void> {
  const now = new Date(term.now);
  const owner = { merchantId: merchant.id, ...by };
  if (await holdGuard(tx, guardKey, owner, { ...term, now })) return;
  throw duplicate(merchant.id, (await findGuard(tx, guardKey, now)) ?? owner);
}

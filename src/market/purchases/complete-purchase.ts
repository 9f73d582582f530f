import { usdcOfUnits } from '../../contract/money.ts';
import type { PaymentWay } from '../../contract/vocabulary.ts';
import type { Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import { recordEvent } from '../events/record-event.ts';
import { isErased } from '../goods/keeping/erasure-store.ts';
import { findHandle, findListingTerms, lockListingShared } from '../listings/store.ts';
import type { Completion, Paid, SettledTransfer } from '../payments/completion.ts';
import type { Payment } from '../payments/payment.ts';
import { insertPaidPurchase, lockHistoriesShared } from './store.ts';

export function completePurchase(market: Market): Completion {
  return {
    listingOf: async (_queryable, payment) => payment.listingId,
    deciderOf: async (queryable, payment) => {
      const listing = payment.listingId === null ? null : await findListingTerms(queryable, payment.listingId);
      if (listing === null) throw new TypeError('a purchase of no listing');
      return listing.merchantId;
    },
    lockSubject: async (tx, payment) => {
      const listing = payment.listingId === null ? null : await lockListingShared(tx, payment.listingId);
      if (listing === null) throw new TypeError('a purchase of no listing');
      return { removedAt: listing.removedAt, sellerId: listing.merchantId };
    },
    complete: (tx, payment, paid) => recordPurchase(tx, market, payment, paid),
    // A surplus payment sells nothing, because the buyer already has the goods.
    completeReviewed: async (tx, payment, paid) => {
      // An authorization that was used before the payment was opened was public, so anyone may have opened the payment.
      const payerCollectsOnly = paid.payerCollectsOnly || payment.endReason === 'used_before_opening';
      if (payment.surplus) return;
      if (payment.listingId !== null && (await isErased(tx, payment.listingId))) {
        throw new Refusal('not_deliverable', { detail: 'The goods were erased: there is nothing to deliver.' });
      }
      await recordPurchase(tx, market, payment, { ...paid, payerCollectsOnly });
    },
    endUncompleted: async () => {},
  };
}

async function recordPurchase(
  tx: Tx,
  market: Market,
  payment: Payment,
  paid: Paid<SettledTransfer | null>,
): Promise<void> {
  const { sellerId } = paid.subject;
  const { listingId } = payment;
  if (listingId === null || sellerId === null) throw new TypeError('a purchase of no listing');
  await lockHistoriesShared(tx, sellerId, payment.merchantId);
  const paidUnits = paid.transfer?.value ?? payment.valueUnits;
  await insertPaidPurchase(tx, payment, { ...paid, paidUnits }, new Date(market.clock.now()));
  await recordSale(tx, market, {
    listingId,
    merchantId: sellerId,
    buyerId: payment.merchantId,
    paidUnits,
    via: payment.path,
    paymentId: payment.id,
    txHash: paid.transfer?.txHash ?? payment.txHash,
  });
}

export interface Sale {
  listingId: bigint;
  merchantId: bigint;
  buyerId: bigint | null;
  paidUnits: bigint;
  via: PaymentWay | 'free';
  paymentId: bigint | null;
  txHash: string | null;
}

export async function recordSale(tx: Tx, market: Market, sale: Sale): Promise<void> {
  await recordEvent(tx, market, {
    kind: 'sale',
    // A wallet without an account has no handle to name as the actor.
    actor: sale.buyerId === null ? 'system' : await findHandle(tx, sale.buyerId),
    detail: {
      listing_id: Number(sale.listingId),
      merchant_id: Number(sale.merchantId),
      paid_usdc: usdcOfUnits(sale.paidUnits),
      verified_via: sale.via,
      ...(sale.paymentId === null ? {} : { payment_id: Number(sale.paymentId) }),
      ...(sale.txHash === null ? {} : { tx_hash: sale.txHash }),
    },
  });
}

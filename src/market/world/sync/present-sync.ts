import type { ResultOf } from '../../../contract/endpoint.ts';
import type { Endpoints } from '../../../contract/index.ts';
import { usdcOfUnits } from '../../../contract/money.ts';
import type { SyncStatus } from '../../../contract/world.ts';
import { isoTime } from '../../../platform/clock.ts';
import { worldStateOf } from '../../catalog/present-listing.ts';
import type { WorldListing, WorldSale } from './store.ts';

export type SyncAnswer = ResultOf<Endpoints['syncWorld']>['body'];

/** Advice for the caller. `retrySeconds` says when a new request makes sense; null if nothing can change any more. */
interface Advice {
  next_step: (cancelUrl: string) => string;
  do_not_pay_again: boolean;
  retrySeconds: number | null;
}

const adviseCancel =
  (why: string) =>
  (cancelUrl: string): string =>
    `${why} Do not pay again. The seller cancels the offer as its resident, with a POST of {} to ${cancelUrl}; then ask again.`;

const ADVICE: Readonly<Record<SyncStatus, Advice>> = {
  listed: {
    next_step: () => 'To buy, open a checkout, then reserve the offer in the city. Do not pay before that.',
    do_not_pay_again: false,
    retrySeconds: 60,
  },
  reserved: {
    next_step: () => 'A buyer holds the offer. Pay only if the reservation is yours, once, and before it ends.',
    do_not_pay_again: false,
    retrySeconds: 10,
  },
  payment_pending: {
    next_step: () => 'The city waits for the payment to be final. Do not pay again; ask again.',
    do_not_pay_again: true,
    retrySeconds: 10,
  },
  claimed: {
    next_step: () =>
      'The thing has changed hands: do not pay again. The sale is recorded here once the same transfer is final; if this market has lost the checkout, the buyer also has to name its resident with POST /api/city-link. Ask again.',
    do_not_pay_again: true,
    retrySeconds: 5,
  },
  payment_invalid: {
    next_step: adviseCancel('The transfer did not fit the reservation, and nothing was sold.'),
    do_not_pay_again: true,
    retrySeconds: 60,
  },
  payment_expired: {
    next_step: adviseCancel('No fitting transfer became final in time, and nothing was sold.'),
    do_not_pay_again: true,
    retrySeconds: 60,
  },
  founder_review: {
    next_step: adviseCancel('The city kept its evidence of the payment for a person to review, and nothing was sold.'),
    do_not_pay_again: true,
    retrySeconds: 60,
  },
  needs_review: {
    next_step: () =>
      'The city calls the offer claimed, but the final transfer breaks a term, named in review_reason. Do not pay again; talk to the seller.',
    do_not_pay_again: true,
    retrySeconds: null,
  },
  completed: {
    next_step: () => 'Nothing to do: the sale is recorded, and world_receipt tells of it.',
    do_not_pay_again: true,
    retrySeconds: null,
  },
  canceled: {
    next_step: () => 'The offer was canceled and nothing was sold. Do not pay.',
    do_not_pay_again: true,
    retrySeconds: null,
  },
  stale: {
    next_step: () =>
      'The city no longer shows the offer that was listed. Do not pay. A sale is still recorded if the city shows one.',
    do_not_pay_again: true,
    retrySeconds: 600,
  },
};

/** Describes a listing from the market's records alone. `mayBePaid` is true if a buyer may have reserved it. */
export function presentSync(listing: WorldListing, sale: WorldSale | null, mayBePaid: boolean): SyncAnswer {
  const status = statusOf(listing);
  const advice = ADVICE[status];
  // If nobody can have paid for this stale listing, it will never be sold.
  const retrySeconds = status === 'stale' && !mayBePaid ? null : advice.retrySeconds;
  return {
    listing_id: Number(listing.id),
    status,
    world_state: worldStateOf(listing.state),
    ...(sale === null ? {} : { purchase: presentSale(listing, sale) }),
    ...(status === 'needs_review' && listing.reviewReason !== null ? { review_reason: listing.reviewReason } : {}),
    next_step: advice.next_step(`${listing.cityOrigin}/api/world/offer/${listing.offerId}/cancel`),
    do_not_pay_again: advice.do_not_pay_again,
    ...(retrySeconds === null ? { retry: 'never' } : { retry: 'same_request', retry_after_seconds: retrySeconds }),
  };
}

function statusOf({ state, phase, reviewReason, differsSince }: WorldListing): SyncStatus {
  if (state === 'sold') return 'completed';
  if (state === 'canceled') return 'canceled';
  if (reviewReason !== null) return 'needs_review';
  if (state !== 'stale') return phase;
  // `claimed` if the city later showed the stale listing's offer unchanged, and claimed.
  return phase === 'claimed' && differsSince === null ? 'claimed' : 'stale';
}

function presentSale({ id }: WorldListing, sale: WorldSale): NonNullable<SyncAnswer['purchase']> {
  return {
    id: Number(sale.id),
    listing_id: Number(id),
    market_buyer: sale.marketBuyer,
    paid_usdc: usdcOfUnits(sale.paidUnits),
    world_receipt: {
      offer_id: Number(sale.offerId),
      thing_id: Number(sale.thingId),
      thing_url: sale.thingUrl,
      city_handle: sale.cityHandle,
      tx_hash: sale.txHash,
      block_number: Number(sale.blockNumber),
      claimed_at: isoTime(sale.claimedAt),
    },
  };
}

import type { ErrorRow } from './error-row.ts';

/** Errors about things of the world: the market's first, then the city's. */
export const worldErrors = {
  world_closed: {
    status: 503,
    title: 'This market has no city',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'Things of the world are not sold here: `city` in the official facts is null.',
  },
  city_unavailable: {
    status: 503,
    title: 'The city cannot be reached, or gave no usable answer',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Nothing was changed or lost. Send the same request again.',
  },
  link_missing: {
    status: 409,
    title: 'The merchant and the resident are not linked',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step:
      'Send the resident’s handle to POST /api/city-link on the market, and the merchant’s handle to POST /api/market-link in the city. Then send the same request again.',
  },
  draft_pending: {
    status: 409,
    title: 'You already have an open draft',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'List the draft in `draft_id`, cancel it, or wait until it expires.',
  },
  draft_closed: {
    status: 409,
    title: 'This draft has ended',
    retry: 'never',
    do_not_pay_again: false,
    next_step: 'GET /api/world/draft/:id shows how it ended. Create a new draft.',
  },
  draft_fee_pending: {
    status: 409,
    title: 'The fee payment for this draft is in progress',
    retry: 'same_request',
    do_not_pay_again: true,
    next_step: 'Wait until the payment is decided. GET /api/world/draft/:id shows it. Do not pay again.',
  },
  offer_mismatch: {
    status: 409,
    title: 'The offer in the city does not match the market’s record',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: '`errors` lists the differences. Create a draft and an offer that match.',
  },
  offer_not_open: {
    status: 409,
    title: 'The offer is not open to buyers right now',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Do not pay. The offer in the city shows its current state.',
  },
  checkout_needed: {
    status: 409,
    title: 'Things of the world are bought through a checkout',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Open one with POST /api/world/checkout/:listing_id, then reserve the offer in the city.',
  },
  not_world_listing: {
    status: 409,
    title: 'This listing does not sell a thing from a city',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step: 'Buy it with POST /api/buy/:id.',
  },
  market_unavailable: {
    status: 503,
    title: 'The market cannot be reached, or gave no usable answer',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Nothing was changed. Send the same request again.',
  },
  not_thing_owner: {
    status: 403,
    title: 'That thing belongs to another resident',
    retry: 'never',
    next_step: 'GET /api/thing/:id shows who owns it.',
  },
  not_offer_seller: {
    status: 403,
    title: 'Another resident made that offer',
    retry: 'never',
    next_step: 'This needs the key of the resident who made the offer.',
  },
  thing_locked: {
    status: 409,
    title: 'That thing is already under offer',
    retry: 'after_fix',
    next_step: 'Cancel the offer in `offer_id`, or wait until it ends.',
  },
  draft_mismatch: {
    status: 409,
    title: 'This market draft cannot be used here',
    retry: 'after_fix',
    next_step:
      '`detail` says why. The draft must be pending, be for this thing, and belong to the merchant that is linked to your resident.',
  },
  checkout_mismatch: {
    status: 409,
    title: 'This market checkout cannot be used here',
    retry: 'after_fix',
    do_not_pay_again: false,
    next_step:
      'Nothing was reserved, so do not pay. Open a new checkout for this listing, as the merchant that is linked to your resident.',
  },
  offer_reserved: {
    status: 409,
    title: 'Another resident has reserved this offer',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Nothing was reserved for you, so do not pay. Try again after Retry-After.',
  },
  reservation_pause: {
    status: 409,
    title: 'Your last reservation of this offer ended unpaid',
    retry: 'same_request',
    do_not_pay_again: false,
    next_step: 'Nothing was reserved, so do not pay. Try again after Retry-After.',
  },
  reservation_over: {
    status: 409,
    title: 'You hold no reservation for this offer',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Do not pay again. If you have paid, contact the seller. The offer itself shows its state.',
  },
  offer_closed: {
    status: 409,
    title: 'This offer has ended',
    retry: 'never',
    do_not_pay_again: true,
    next_step: 'Nothing was changed. Do not pay. The offer itself shows how it ended.',
  },
  offer_busy: {
    status: 409,
    title: 'A buyer has reserved this offer',
    retry: 'same_request',
    next_step: 'Nothing was changed. Try again once the reservation has ended or the payment has been decided.',
  },
  world_payment_invalid: {
    status: 422,
    title: 'The transfer does not match the reservation',
    retry: 'never',
    do_not_pay_again: true,
    next_step:
      'Do not pay again. Run the market’s sync, then ask the seller to cancel the offer and to return the money.',
  },
} as const satisfies Record<string, ErrorRow>;

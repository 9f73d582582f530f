import { z } from 'zod';
import { addressIn, addressOut, hashIn } from '../chain-values.ts';
import { endpoint } from '../endpoint.ts';
import { idIn, idOut, idParam, timeOut } from '../paging.ts';
import { signatureIn } from '../payments.ts';
import { offerOut } from '../world-records.ts';

const offerAnswer = z.object({ offer: offerOut });

export const openOffer = endpoint({
  name: 'openOffer',
  method: 'POST',
  path: '/api/world/offer',
  summary: 'Offer an own thing on the terms of a draft on the market. The thing is locked until the offer has ended.',
  auth: 'key',
  body: z.strictObject({ market_draft_id: idIn, thing_id: idIn }),
  answers: { 200: offerAnswer, 201: offerAnswer },
  errors: ['not_found', 'not_thing_owner', 'thing_locked', 'draft_mismatch', 'link_missing', 'market_unavailable'],
  cache: 'private',
});

export const getOffer = endpoint({
  name: 'getOffer',
  method: 'GET',
  path: '/api/world/offer/:id',
  summary: 'Where an offer stands.',
  auth: 'audit',
  params: idParam,
  answers: { 200: offerAnswer },
  errors: ['not_found'],
  cache: 'public',
});

export const reservationOut = z
  .object({
    id: idOut,
    offer_id: idOut,
    city_handle: z.string(),
    payer_wallet: addressOut,
    seller_wallet: addressOut,
    amount_units: z.string().describe('units of USDC (6 decimals); one transfer of at least that'),
    asset: addressOut,
    chain_id: idOut,
    reserved_at: timeOut.describe('the transfer’s block has this time or a later one'),
    reserved_until: timeOut.describe('and an earlier one than this'),
    challenge: z.string().describe('what payer_wallet signs with personal_sign'),
    next_step: z.string(),
  })
  .meta({ id: 'Reservation' });

export const reserveOffer = endpoint({
  name: 'reserveOffer',
  method: 'POST',
  path: '/api/world/offer/:id/reserve',
  summary: 'Five minutes in which a transfer from that wallet buys the thing. The first who asks has it.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({ market_checkout_id: idIn, payer_wallet: addressIn }),
  answers: { 200: z.object({ reservation: reservationOut }), 201: z.object({ reservation: reservationOut }) },
  errors: [
    'not_found',
    'own_goods',
    'checkout_mismatch',
    'offer_reserved',
    'offer_closed',
    'reservation_pause',
    'market_unavailable',
    'payment_check_unavailable',
    'chain_clock',
    'rate_limited',
  ],
  cache: 'private',
});

export const claimOffer = endpoint({
  name: 'claimOffer',
  method: 'POST',
  path: '/api/world/offer/:id/claim',
  summary: 'Show the transfer and the payer’s signature of the challenge. The same claim again tells how it stands.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({ tx_hash: hashIn, payer_signature: signatureIn }),
  answers: {
    200: offerAnswer.extend({ do_not_pay_again: z.literal(true) }),
    202: offerAnswer.extend({
      status: z.literal('payment_pending'),
      do_not_pay_again: z.literal(true),
      retry: z.literal('same_request'),
      retry_after_seconds: z.int(),
      next_step: z.string(),
    }),
  },
  errors: [
    'not_found',
    'reservation_over',
    'offer_closed',
    'signature_invalid',
    'transfer_not_found',
    'transaction_used',
    'world_payment_invalid',
    'payment_preserved',
    'rate_limited',
  ],
  cache: 'private',
  claim: true,
});

export const reconcileOffer = endpoint({
  name: 'reconcileOffer',
  method: 'POST',
  path: '/api/world/offer/:id/reconcile',
  summary: 'Look at the chain now, and tell where the offer stands.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({}),
  body_optional: true,
  answers: { 200: offerAnswer },
  errors: ['not_found', 'rate_limited'],
  cache: 'private',
});

export const cancelOffer = endpoint({
  name: 'cancelOffer',
  method: 'POST',
  path: '/api/world/offer/:id/cancel',
  summary: 'End an own offer that nobody holds, or one that ended without a sale; the thing is free again.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({}),
  body_optional: true,
  answers: { 200: offerAnswer },
  errors: ['not_found', 'not_offer_seller', 'offer_busy', 'offer_closed'],
  cache: 'private',
});

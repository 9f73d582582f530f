import { z } from 'zod';
import { handleOut, unitsOut } from './answer-forms.ts';
import { addressIn, addressOut, hashIn } from './chain-values.ts';
import { endpoint } from './endpoint.ts';
import { cancelStage, confirmStage, handleIn, stagedKey, stageFields } from './identity.ts';
import { idIn, idOut, idParam, timeOut } from './paging.ts';
import { signatureIn } from './payments.ts';
import { publicText } from './text.ts';
import { foreignHandleIn } from './world.ts';
import { offerOut, residentOut, thingOut } from './world-records.ts';

const offerAnswer = z.object({ offer: offerOut });

const openOffer = endpoint({
  name: 'openOffer',
  method: 'POST',
  path: '/api/world/offer',
  summary: 'Offer your thing on the terms of a market draft. The thing stays locked until the offer ends.',
  auth: 'key',
  body: z.strictObject({ market_draft_id: idIn, thing_id: idIn }),
  answers: { 200: offerAnswer, 201: offerAnswer },
  errors: ['not_found', 'not_thing_owner', 'thing_locked', 'draft_mismatch', 'link_missing', 'market_unavailable'],
  cache: 'private',
});

const getOffer = endpoint({
  name: 'getOffer',
  method: 'GET',
  path: '/api/world/offer/:id',
  summary: 'Read an offer and its state.',
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
    city_handle: handleOut,
    payer_wallet: addressOut,
    seller_wallet: addressOut,
    amount_units: unitsOut.describe('USDC units (6 decimals); pay at least this in one transfer'),
    asset: addressOut,
    chain_id: idOut,
    reserved_at: timeOut.describe('the block of the transfer must have this time or later'),
    reserved_until: timeOut.describe('the block of the transfer must be earlier than this'),
    challenge: z.string().describe('the text that payer_wallet signs with personal_sign'),
    next_step: z.string(),
  })
  .meta({ id: 'Reservation' });

const reserveOffer = endpoint({
  name: 'reserveOffer',
  method: 'POST',
  path: '/api/world/offer/:id/reserve',
  summary:
    'Reserve an offer for five minutes, in which a transfer from your wallet buys the thing. First come, first served.',
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

const claimOffer = endpoint({
  name: 'claimOffer',
  method: 'POST',
  path: '/api/world/offer/:id/claim',
  summary:
    'Claim an offer with the transfer and the payer’s signature of the challenge. Repeat the claim to see its state.',
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

const reconcileOffer = endpoint({
  name: 'reconcileOffer',
  method: 'POST',
  path: '/api/world/offer/:id/reconcile',
  summary: 'Check the chain now and return the state of the offer.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({}),
  body_optional: true,
  answers: { 200: offerAnswer },
  errors: ['not_found', 'rate_limited'],
  cache: 'private',
});

const cancelOffer = endpoint({
  name: 'cancelOffer',
  method: 'POST',
  path: '/api/world/offer/:id/cancel',
  summary: 'Cancel your offer if nobody has reserved it, or release the thing of one that ended without a sale.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({}),
  body_optional: true,
  answers: { 200: offerAnswer },
  errors: ['not_found', 'not_offer_seller', 'offer_busy', 'offer_closed'],
  cache: 'private',
});

/** A city shows the key once and issues no recovery codes. */
const staged = z.object(stagedKey).meta({ id: 'StagedResident' });
const confirmed = z.object({ status: z.literal('confirmed'), resident_id: idOut, handle: handleOut });
const canceled = z.object({ status: z.literal('canceled') });

const registerResident = endpoint({
  name: 'registerResident',
  method: 'POST',
  path: '/api/register',
  summary:
    'Become a resident in two steps: stage shows the key once, confirm activates it. A lost key cannot be replaced.',
  auth: 'staged_key',
  body: z.discriminatedUnion('action', [
    stageFields,
    confirmStage.extend({
      handle: handleIn.optional().describe('another handle, if the staged one has been taken meanwhile'),
    }),
    cancelStage,
  ]),
  answers: { 200: z.union([staged, confirmed, canceled]) },
  errors: [
    'handle_taken',
    'handle_reserved',
    'stage_closed',
    'rate_limited',
    'not_found',
    'key_required',
    'key_invalid',
  ],
  cache: 'private',
  secret_fields: ['merchant_key'],
});

const linkMarket = endpoint({
  name: 'linkMarket',
  method: 'POST',
  path: '/api/market-link',
  summary:
    'Link this resident to a merchant of the market; null removes the link. The merchant must link back on the market.',
  auth: 'key',
  body: z.strictObject({ market_handle: foreignHandleIn.nullable() }),
  answers: { 200: z.object({ resident: residentOut }) },
  errors: [],
  cache: 'private',
});

const getResident = endpoint({
  name: 'getResident',
  method: 'GET',
  path: '/api/resident/:handle',
  summary: 'Read a resident, the merchant it names, and its things.',
  auth: 'audit',
  params: z.strictObject({ handle: z.string().min(1).max(64) }),
  answers: { 200: z.object({ resident: residentOut }) },
  errors: ['not_found'],
  cache: 'public',
});

const makeThing = endpoint({
  name: 'makeThing',
  method: 'POST',
  path: '/api/thing',
  summary: 'Make a unique thing that belongs to you.',
  auth: 'key',
  body: z.strictObject({ name: publicText(3, 80) }),
  answers: { 201: z.object({ thing: thingOut }) },
  errors: ['rate_limited'],
  cache: 'private',
});

const giveThing = endpoint({
  name: 'giveThing',
  method: 'POST',
  path: '/api/thing/:id/give',
  summary: 'Give your thing away for free, unless it is under offer.',
  auth: 'key',
  params: idParam,
  body: z.strictObject({ to: z.string().min(1).max(64) }),
  answers: { 200: z.object({ thing: thingOut }) },
  errors: ['not_found', 'not_thing_owner', 'thing_locked'],
  cache: 'private',
});

const getThing = endpoint({
  name: 'getThing',
  method: 'GET',
  path: '/api/thing/:id',
  summary: 'Read a thing with its owner and former owners.',
  auth: 'audit',
  params: idParam,
  answers: { 200: z.object({ thing: thingOut }) },
  errors: ['not_found'],
  cache: 'public',
});

export const cityEndpoints = {
  registerResident,
  linkMarket,
  getResident,
  makeThing,
  giveThing,
  getThing,
  openOffer,
  getOffer,
  reserveOffer,
  claimOffer,
  reconcileOffer,
  cancelOffer,
} as const;

export type CityEndpoints = typeof cityEndpoints;
export type CityEndpointName = keyof CityEndpoints;

/** Default rates of the city. The variable CITY_LIMITS overrides them. */
export const CITY_LIMITS = {
  registration_per_ip_hour: 3,
  registration_per_hour: 300,
  confirm_per_ip_hour: 10,
  networks_per_site: 10,
  things_per_resident_day: 50,
  reservations_per_resident_hour: 20,
  claims_per_resident_hour: 60,
  reconciles_per_resident_hour: 600,
} as const;
export type CityLimits = { readonly [K in keyof typeof CITY_LIMITS]: number };

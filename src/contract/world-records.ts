import { z } from 'zod';
import { handleOut, urlOut } from './answer-forms.ts';
import { addressOut, hashOut } from './chain-values.ts';
import { usdcOut } from './money.ts';
import { idOut, timeOut } from './paging.ts';
import { UNTRUSTED } from './text.ts';

/**
 * What market and city tell the public of a sale, and each reads of the other (W12). A site reads it as hostile input: what does not have
 * this shape counts as no answer.
 */

const untrusted = z.string().max(16_000).describe(UNTRUSTED);
const url = urlOut;
const handle = handleOut;

/**
 * A handle that one site only shows in a refusal, as the other names it. What is no handle there is another merchant or resident, and none
 * of its words are shown.
 */
export const handleNamed = (otherwise: string) =>
  z
    .string()
    .max(64)
    .transform((given) => (handleOut.safeParse(given).success ? given : otherwise))
    .nullable();

/** As the city counts it. */
export const OFFER_PHASES = [
  'listed',
  'reserved',
  'payment_pending',
  'payment_invalid',
  'payment_expired',
  'founder_review',
  'claimed',
  'canceled',
] as const;
export type OfferPhase = (typeof OFFER_PHASES)[number];

export const DRAFT_STATES = ['pending', 'fee_pending', 'listed', 'canceled', 'expired'] as const;
export type DraftState = (typeof DRAFT_STATES)[number];

export const CHECKOUT_STATES = ['open', 'expired', 'completed', 'closed'] as const;
export type CheckoutState = (typeof CHECKOUT_STATES)[number];

/** Of a listing, as the market sees it. */
export const WORLD_STATES = ['active', 'sold', 'canceled', 'stale'] as const;
export type WorldState = (typeof WORLD_STATES)[number];

/** What a merchant means to sell; the offer in the city has to agree with it. */
export const draftOut = z
  .object({
    id: idOut,
    seller: handle,
    title: untrusted,
    description: untrusted,
    preview: untrusted,
    price_usdc: usdcOut,
    seller_wallet: addressOut,
    tags: z.array(z.string().max(64)).max(16).describe(UNTRUSTED),
    thing_id: idOut,
    state: z.enum(DRAFT_STATES),
    listing_id: idOut.nullable().describe('once it is listed'),
    created_at: timeOut,
    expires_at: timeOut,
  })
  .meta({ id: 'WorldDraft' });
export type DraftOut = z.output<typeof draftOut>;

/** Ten minutes in which a resident may reserve the offer for a merchant who buys. It reserves nothing. */
export const checkoutOut = z
  .object({
    id: idOut,
    listing_id: idOut,
    market_buyer: handle,
    city_handle: handle,
    city_offer_id: idOut,
    state: z.enum(CHECKOUT_STATES),
    created_at: timeOut,
    expires_at: timeOut,
  })
  .meta({ id: 'WorldCheckout' });
export type CheckoutOut = z.output<typeof checkoutOut>;

export const offerOut = z
  .object({
    id: idOut,
    phase: z.enum(OFFER_PHASES),
    thing_id: idOut,
    thing_name: untrusted,
    thing_url: url,
    locked: z.boolean().describe('whether the thing is under this offer still'),
    seller: handle.describe('a resident, as all handles here but market_buyer'),
    buyer: handle.nullable(),
    market_buyer: handle.nullable().describe('the merchant on the market who buys'),
    price_usdc: usdcOut,
    seller_wallet: addressOut,
    market_origin: url,
    market_draft_id: idOut,
    market_listing_id: idOut.nullable(),
    market_checkout_id: idOut.nullable(),
    chain_id: idOut,
    reserved_at: timeOut.nullable().describe('a transfer counts from this second on'),
    reserved_until: timeOut.nullable().describe('and before this one'),
    created_at: timeOut,
    claimed_at: timeOut.nullable(),
    canceled_at: timeOut.nullable(),
    tx_hash: hashOut.nullable(),
    buyer_wallet: addressOut.nullable(),
    block_number: z.int().nonnegative().nullable(),
    block_time: timeOut.nullable(),
    cancel_url: url,
    offer_url: url,
  })
  .meta({ id: 'Offer' });
export type OfferOut = z.output<typeof offerOut>;

export const residentOut = z
  .object({
    handle,
    market_handle: handle.nullable().describe('the merchant that this resident names; a link needs both sides'),
    joined_at: timeOut,
    things: z.array(idOut).max(100).describe('ids, the newest first'),
    things_total: z.int().nonnegative(),
  })
  .meta({ id: 'Resident' });
export type ResidentOut = z.output<typeof residentOut>;

export const thingOut = z
  .object({
    id: idOut,
    name: untrusted,
    owner: handle,
    locked: z.boolean().describe('under an offer: it can be neither offered again nor moved'),
    offer_id: idOut.nullable().describe('the offer that locks it'),
    url,
    picture_url: url,
    created_at: timeOut,
    history: z
      .array(z.object({ owner: handle, from: timeOut, offer_id: idOut.nullable() }))
      .max(100)
      .describe('owners, the newest first; offer_id is null for who made it'),
    history_total: z.int().positive(),
  })
  .meta({ id: 'Thing' });
export type ThingOut = z.output<typeof thingOut>;

/** What a buyer has of a thing that changed hands. */
export const worldReceipt = z
  .object({
    offer_id: idOut,
    thing_id: idOut,
    thing_url: url,
    city_handle: handle,
    tx_hash: hashOut,
    block_number: z.int().nonnegative(),
    claimed_at: timeOut,
  })
  .meta({ id: 'WorldReceipt' });
export type WorldReceipt = z.output<typeof worldReceipt>;

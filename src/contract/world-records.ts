import { z } from 'zod';
import { handleOut, urlOut } from './answer-forms.ts';
import { addressOut, hashOut } from './chain-values.ts';
import { usdcOut } from './money.ts';
import { idOut, timeOut } from './paging.ts';
import { UNTRUSTED } from './text.ts';

/** Public records of a sale that market and city read from each other as hostile input: a malformed record counts as no answer. */

const untrusted = z.string().max(16_000).describe(UNTRUSTED);
const url = urlOut;
const handle = handleOut;

/**
 * A handle read from the other site, for display in a refusal. Replaces a malformed handle with `otherwise`, so that none of its text is
 * shown.
 */
export const displayedHandle = (otherwise: string) =>
  z
    .string()
    .max(64)
    .transform((text) => (handleOut.safeParse(text).success ? text : otherwise))
    .nullable();

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

/** States of a thing's listing on the market. */
export const WORLD_STATES = ['active', 'sold', 'canceled', 'stale'] as const;
export type WorldState = (typeof WORLD_STATES)[number];

/** Terms on which a merchant wants to sell a thing. The offer in the city must match them. */
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
    keywords: z.array(z.string().max(256)).max(64).default([]).describe(UNTRUSTED),
    thing_id: idOut,
    state: z.enum(DRAFT_STATES),
    listing_id: idOut.nullable().describe('null until it is listed'),
    created_at: timeOut,
    expires_at: timeOut,
  })
  .meta({ id: 'WorldDraft' });
export type DraftOut = z.output<typeof draftOut>;

/** Lets a resident reserve the offer for the buying merchant within ten minutes. The checkout itself reserves nothing. */
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
    locked: z.boolean().describe('whether this offer still locks the thing'),
    seller: handle.describe('a resident, like all handles here except market_buyer'),
    buyer: handle.nullable(),
    market_buyer: handle.nullable().describe('the buying merchant on the market'),
    price_usdc: usdcOut,
    seller_wallet: addressOut,
    market_origin: url,
    market_draft_id: idOut,
    market_listing_id: idOut.nullable(),
    market_checkout_id: idOut.nullable(),
    chain_id: idOut,
    reserved_at: timeOut.nullable().describe('a transfer counts from this second'),
    reserved_until: timeOut.nullable().describe('until before this second'),
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
    market_handle: handle
      .nullable()
      .describe('the merchant that this resident names; the merchant must name the resident too'),
    joined_at: timeOut,
    things: z.array(idOut).max(100).describe('ids, newest first'),
    things_total: z.int().nonnegative(),
  })
  .meta({ id: 'Resident' });
export type ResidentOut = z.output<typeof residentOut>;

export const thingOut = z
  .object({
    id: idOut,
    name: untrusted,
    owner: handle,
    locked: z.boolean().describe('true: an offer locks it, so it can neither be offered nor given away'),
    offer_id: idOut.nullable().describe('the offer that locks it'),
    url,
    picture_url: url,
    created_at: timeOut,
    history: z
      .array(z.object({ owner: handle, from: timeOut, offer_id: idOut.nullable() }))
      .max(100)
      .describe('owners, newest first; offer_id is null for the one who made it'),
    history_total: z.int().positive(),
  })
  .meta({ id: 'Thing' });
export type ThingOut = z.output<typeof thingOut>;

/** The buyer's receipt for a thing. */
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

import type { CityEndpoints } from '../../contract/city.ts';
import { unitsOfUsdc } from '../../contract/money.ts';
import { MAX_PRICE_UNITS } from '../../contract/vocabulary.ts';
import type { DraftOut } from '../../contract/world-records.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { City, CityOperation, Resident } from '../context.ts';
import { readDraft, readMerchant } from '../fetch-market.ts';
import { mustFindResident } from '../residents/store.ts';
import { findThing, lockThing, mustNotBeUnderOffer } from '../things/store.ts';
import type { Offer } from './offer.ts';
import { presentOffer } from './present-offer.ts';
import { findOfferOfDraft, insertOffer, mustFindOffer, type NewOffer } from './store.ts';

interface OfferRequest {
  marketDraftId: bigint;
  thingId: bigint;
}

/** POST /api/world/offer. Takes the terms from the draft as the market shows it now, and locks the thing. */
export const openOffer: CityOperation<CityEndpoints['openOffer']> = async (city, { body, caller }) => {
  const request = { marketDraftId: body.market_draft_id, thingId: body.thing_id };
  const existing = await findOwnOffer(city, request, caller);
  if (existing !== null) return { status: 200, body: { offer: presentOffer(city, existing) } };
  await mustOwn(city, request.thingId, caller);
  const { id, isNew } = await insertOnce(city, await readTerms(city, request, caller));
  const answer = { offer: presentOffer(city, await mustFindOffer(city.database, id)) };
  return isNew ? { status: 201, body: answer } : { status: 200, body: answer };
};

/** Returns the offer that an earlier identical call opened, in whatever state it is now. */
async function findOwnOffer(
  { database, config }: City,
  request: OfferRequest,
  caller: Resident,
): Promise<Offer | null> {
  const offer = await findOfferOfDraft(database, { ...request, marketOrigin: config.marketUrl });
  return offer !== null && isSameOffer(offer, { thingId: request.thingId, sellerId: caller.id }) ? offer : null;
}

function isSameOffer(offer: Offer, { thingId, sellerId }: Pick<NewOffer, 'thingId' | 'sellerId'>): boolean {
  return offer.thingId === thingId && offer.sellerId === sellerId;
}

async function mustOwn({ database }: City, thingId: bigint, caller: Resident): Promise<void> {
  const thing = await findThing(database, thingId);
  if (thing === null) throw new Refusal('not_found', { detail: 'There is no such thing.' });
  if (thing.owner !== caller.handle) throw new Refusal('not_thing_owner');
}

async function readTerms(city: City, { marketDraftId, thingId }: OfferRequest, caller: Resident): Promise<NewOffer> {
  const { config, clock } = city;
  const draft = await readDraft(city, marketDraftId);
  if (draft === null) throw new Refusal('not_found', { detail: 'The market has no such draft.' });
  const now = clock.now();
  if (draft.thing_id !== Number(thingId)) throw draftMismatch(`The draft is for thing ${draft.thing_id}.`);
  if (draft.state !== 'pending') throw draftMismatch(`The draft is ${draft.state}, not pending.`);
  if (Date.parse(draft.expires_at) <= now) throw draftMismatch('The draft has expired.');
  await mustBeLinked(city, draft, caller);
  const priceUnits = unitsOfUsdc(draft.price_usdc);
  if (priceUnits === null || priceUnits < 1n || priceUnits > MAX_PRICE_UNITS)
    throw draftMismatch('The draft has an invalid price.');
  return {
    thingId,
    sellerId: caller.id,
    priceUnits,
    sellerWallet: draft.seller_wallet.toLowerCase() as Hex,
    marketOrigin: config.marketUrl,
    marketDraftId,
    marketSeller: draft.seller,
    chainId: config.network.chainId,
    asset: config.network.usdc,
    createdAt: new Date(now),
  };
}

function draftMismatch(detail: string): Refusal {
  return new Refusal('draft_mismatch', { detail });
}

/** Requires that the caller names the draft's seller as merchant, and that this merchant names the caller. Reads both sides now. */
async function mustBeLinked(city: City, { seller }: DraftOut, caller: Resident): Promise<void> {
  const { market_handle: named } = await mustFindResident(city.database, caller.handle);
  if (named !== seller) {
    throw linkMissing(`The draft is ${seller}’s, and ${caller.handle} names ${named ?? 'no merchant'}.`);
  }
  const merchant = await readMerchant(city, seller);
  if (merchant?.city_handle !== caller.handle) {
    throw linkMissing(`The merchant ${seller} names ${merchant?.city_handle ?? 'no resident'}, not ${caller.handle}.`);
  }
}

function linkMissing(detail: string): Refusal {
  return new Refusal('link_missing', { detail });
}

/** Locks the thing's row first, so that no concurrent transaction gives it away or offers it twice. */
async function insertOnce({ database }: City, terms: NewOffer): Promise<{ id: bigint; isNew: boolean }> {
  return database.transaction(async (tx) => {
    const thing = await lockThing(tx, terms.thingId);
    await tx.lock('offers');
    const existing = await findOfferOfDraft(tx, terms);
    if (existing !== null && isSameOffer(existing, terms)) return { id: existing.id, isNew: false };
    if (thing?.ownerId !== terms.sellerId) throw new Refusal('not_thing_owner');
    if (existing !== null) throw draftMismatch(`The draft was used for offer ${existing.id}.`);
    await mustNotBeUnderOffer(tx, terms.thingId);
    return { id: await insertOffer(tx, terms), isNew: true };
  });
}

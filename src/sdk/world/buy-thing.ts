import type { Hex } from 'viem';
import { unitsOfUsdc } from '../../contract/money.ts';
import { DEFAULT_NETWORK, NETWORKS } from '../../contract/vocabulary.ts';
import type { WorldReceipt } from '../../contract/world-records.ts';
import type { Client } from '../client.ts';
import { checkFacts } from '../payments/direct/check-intent.ts';
import { TransferNotSent } from '../payments/direct/transfer-errors.ts';
import type { SoughtTransfer } from '../payments/direct/transfer-options.ts';
import { TermsRefused } from '../payments/terms-refused.ts';
import { checkReservation, checkReservationTime, type Reservation, type ThingTerms } from './check-reservation.ts';
import { pursueSale } from './pursue-sale.ts';
import { ThingMayBePaid, ThingUndecided } from './thing-errors.ts';
import type { BuyThingOptions } from './thing-options.ts';
import { createMemoryThingStore, loadThing, type SavedThing, type ThingStore } from './thing-store.ts';

const stores = new WeakMap<Client, ThingStore>();

/**
 * Buys a thing of the city: checkout on the market, reservation in the city, one transfer from `wallet`, claim, and the market's record of
 * the sale. Takes as long as finality takes. Sends one transfer, also when it is called again after a crash: throws `TermsRefused` or
 * the site's refusal before anything is sent, `ThingMayBePaid` when it is unknown whether a transfer was, `ThingRefused` when it came to
 * no sale, `ThingUndecided` when waiting ends first.
 */
export async function buyThing(options: BuyThingOptions): Promise<WorldReceipt> {
  const { market, wallet, listingId } = options;
  const known = stores.get(market) ?? createMemoryThingStore();
  stores.set(market, known);
  const store = options.store ?? known;
  const key = `${market.baseUrl} buy thing ${listingId} ${wallet.address.toLowerCase()}`;
  const before = await goOn(options, store, key);
  const saved = before ?? (await payFor(options, store, key));
  return await pursueSale(options, saved, market.environment.now());
}

/** The transfer that was begun, with its hash; null when there is none. */
async function goOn(options: BuyThingOptions, store: ThingStore, key: string): Promise<SavedThing | null> {
  const saved = await loadThing(store, key);
  if (saved === null || saved.tx_hash !== null) return saved;
  const { resume } = options;
  if (resume === 'nothing_sent') {
    await store.clear(key);
    return null;
  }
  const sought = soughtOf(saved);
  const found = resume ?? (await options.findTransfer?.(sought)) ?? null;
  if (found === null) throw new ThingMayBePaid(sought);
  const named = { ...saved, tx_hash: found.toLowerCase() as Hex };
  await store.save(key, named);
  return named;
}

async function payFor(options: BuyThingOptions, store: ThingStore, key: string): Promise<SavedThing> {
  const { city, wallet, signal, market } = options;
  const terms = await readTerms(options);
  const { body } = await city.reserveOffer({
    params: { id: terms.offerId },
    body: { market_checkout_id: terms.checkoutId, payer_wallet: wallet.address.toLowerCase() },
    signal,
  });
  const { reservation } = body;
  checkReservation(reservation, terms, market.environment.now());
  options.onProgress?.({ phase: 'reserved' });
  const payer_signature = await wallet.signMessage({ message: reservation.challenge });
  // The signer may have taken a long time.
  checkReservationTime(reservation, market.environment.now());
  signal?.throwIfAborted();
  const draft = draftOf(reservation, terms, payer_signature);
  if (!(await store.create(key, draft))) throw new ThingUndecided('Another call pays for this thing', draft);
  return await sendOnce(options, { store, key, draft });
}

async function readTerms(options: BuyThingOptions): Promise<ThingTerms> {
  const { market, city, wallet, listingId, cityHandle, network = DEFAULT_NETWORK.name, signal } = options;
  const maxUnits = unitsOfUsdc(options.maxPriceUsdc);
  if (maxUnits === null) throw new TypeError('maxPriceUsdc must be a number from 0 on with at most 6 decimals');
  checkFacts((await market.getOfficialFacts({ signal })).body, network);
  const asked = { params: { id: listingId }, query: { comments_limit: 1 }, signal };
  const { listing } = (await market.getListing(asked)).body;
  const amountUnits = unitsOfUsdc(listing.price_usdc);
  if (listing.delivery_kind !== 'city_ownership' || listing.world_asset_id === null || amountUnits === null) {
    throw new TermsRefused('unreadable_terms', 'the listing is no thing of a city');
  }
  if (listing.city_url !== city.baseUrl) throw new TermsRefused('unreadable_terms', 'the listing is of another city');
  if (amountUnits > maxUnits) throw new TermsRefused('price_above_limit', 'the price is above maxPriceUsdc');
  const opened = await market.checkoutWorld({
    params: { listing_id: listingId },
    body: { city_handle: cityHandle },
    signal,
  });
  const { checkout } = opened.body;
  return {
    ...{ network, listingId, amountUnits, payer: wallet.address, payee: listing.seller_wallet },
    ...{ marketOrigin: market.baseUrl, cityOrigin: city.baseUrl, thingId: listing.world_asset_id },
    ...{ checkoutId: checkout.id, offerId: checkout.city_offer_id, cityHandle: checkout.city_handle },
    marketBuyer: checkout.market_buyer,
  };
}

function draftOf(reservation: Reservation, terms: ThingTerms, payer_signature: Hex): SavedThing {
  const { usdc, chainId } = NETWORKS[terms.network];
  return {
    version: 1,
    listing_id: terms.listingId,
    offer_id: terms.offerId,
    reservation_id: reservation.id,
    payer: terms.payer,
    payee: terms.payee.toLowerCase() as Hex,
    asset: usdc,
    chain_id: Number(chainId),
    amount_units: terms.amountUnits.toString(),
    reserved_at: reservation.reserved_at,
    reserved_until: reservation.reserved_until,
    payer_signature,
    tx_hash: null,
  };
}

/** Called once for a saved purchase and never again: whatever goes wrong from here on may leave a transfer on the chain. */
async function sendOnce(
  options: BuyThingOptions,
  { store, key, draft }: { store: ThingStore; key: string; draft: SavedThing },
): Promise<SavedThing> {
  const { to, units, asset, chainId } = soughtOf(draft);
  let hash: Hex;
  try {
    hash = (await options.wallet.sendUsdc({ to, units, asset, chainId })).toLowerCase() as Hex;
  } catch (cause) {
    if (!(cause instanceof TransferNotSent)) throw new ThingMayBePaid(soughtOf(draft), cause);
    await store.clear(key);
    throw cause;
  }
  const sent = { ...draft, tx_hash: hash };
  try {
    await store.save(key, sent);
  } catch (cause) {
    throw new ThingUndecided(`The hash could not be saved (call again with resume: '${hash}')`, sent, cause);
  }
  options.onProgress?.({ phase: 'sent', txHash: hash });
  return sent;
}

function soughtOf(saved: SavedThing): SoughtTransfer {
  return {
    ...{ from: saved.payer, to: saved.payee, units: BigInt(saved.amount_units) },
    ...{ asset: saved.asset, chainId: saved.chain_id, since: saved.reserved_at, until: saved.reserved_until },
  };
}

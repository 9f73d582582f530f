import type { Hex } from 'viem';
import { unitsOfUsdc } from '../../contract/money.ts';
import { own } from '../../contract/own-words.ts';
import { DEFAULT_NETWORK, NETWORKS } from '../../contract/vocabulary.ts';
import type { WorldReceipt } from '../../contract/world-records.ts';
import type { Client } from '../client.ts';
import { MarketError, UnreadableAnswer } from '../errors.ts';
import { checkFacts } from '../payments/direct/check-intent.ts';
import { TransferNotSent } from '../payments/direct/transfer-errors.ts';
import type { SoughtTransfer } from '../payments/direct/transfer-options.ts';
import { isTemporary } from '../payments/direct/transfer-run.ts';
import { refuseOwnGoods, TermsRefused } from '../payments/payment-errors.ts';
import { DEFAULT_WAIT_SECONDS, pauseSeconds } from '../payments/payment-run.ts';
import { signingTime } from '../payments/signing-clock.ts';
import { checkReservation, checkReservationTime, type Reservation, type ThingTerms } from './check-reservation.ts';
import {
  type BuyThingOptions,
  createMemoryThingStore,
  loadThing,
  type SavedThing,
  ThingMayBePaid,
  ThingRefused,
  type ThingStore,
  ThingUndecided,
} from './thing-options.ts';

const stores = new WeakMap<Client, ThingStore>();

/**
 * Buys a city thing: checkout at the market, reservation in the city, one transfer from `wallet`, claim, and the market's record of the
 * sale. Waits for finality. Sends one transfer, even if called again after a crash. Throws `TermsRefused` or the server's refusal before
 * anything is sent, `ThingMayBePaid` if a transfer may have been sent, `ThingRefused` if there was no sale, and `ThingUndecided` if waiting
 * ends first.
 */
export async function buyThing(options: BuyThingOptions): Promise<WorldReceipt> {
  const { market, wallet, listingId } = options;
  const memory = stores.get(market) ?? createMemoryThingStore();
  stores.set(market, memory);
  const store = options.store ?? memory;
  const key = `${market.baseUrl} buy thing ${listingId} ${wallet.address.toLowerCase()}`;
  const earlier = await resumeThing(options, store, key);
  const saved = earlier ?? (await payFor(options, store, key));
  return await recordSale(options, saved, market.environment.now());
}

/** Loads the transfer started earlier, with its hash. Returns null if there is none, or the caller says that none was sent. */
async function resumeThing(options: BuyThingOptions, store: ThingStore, key: string): Promise<SavedThing | null> {
  const saved = await loadThing(store, key);
  if (saved === null || saved.tx_hash !== null) return saved;
  const { resume } = options;
  if (resume === 'nothing_sent') {
    await store.clear(key);
    return null;
  }
  const sought = soughtTransferOf(saved);
  const hash = resume ?? (await options.findTransfer?.(sought)) ?? null;
  if (hash === null) throw new ThingMayBePaid(sought);
  const named = { ...saved, tx_hash: hash.toLowerCase() as Hex };
  await store.save(key, named);
  return named;
}

const NOT_SENT = own`nothing was sent`;

async function payFor(options: BuyThingOptions, store: ThingStore, key: string): Promise<SavedThing> {
  const { city, wallet, signal } = options;
  const terms = await readTerms(options);
  const { body } = await city.reserveOffer({
    params: { id: terms.offerId },
    body: { market_checkout_id: terms.checkoutId, payer_wallet: wallet.address.toLowerCase() },
    signal,
  });
  const { reservation } = body;
  checkReservation(reservation, terms, signingTime(city, NOT_SENT));
  options.onProgress?.({ phase: 'reserved' });
  const payer_signature = await wallet.signMessage({ message: reservation.challenge });
  // Signing may have taken a long time.
  checkReservationTime(reservation, signingTime(city, NOT_SENT));
  signal?.throwIfAborted();
  const draft = draftOf(reservation, terms, payer_signature);
  if (!(await store.create(key, draft))) throw new ThingUndecided('Another call is paying for this thing', draft);
  return await sendOnce(options, { store, key, draft });
}

async function readTerms(options: BuyThingOptions): Promise<ThingTerms> {
  const { market, city, wallet, listingId, cityHandle, network = DEFAULT_NETWORK.name, signal } = options;
  const maxUnits = unitsOfUsdc(options.maxPriceUsdc);
  if (maxUnits === null) throw new TypeError('maxPriceUsdc must be a number from 0 on with at most 6 decimals');
  checkFacts((await market.getOfficialFacts({ signal })).body, network);
  const request = { params: { id: listingId }, query: { comments_limit: 1 }, signal };
  const { listing } = (await market.getListing(request)).body;
  const amountUnits = unitsOfUsdc(listing.price_usdc);
  if (listing.delivery_kind !== 'city_ownership') {
    throw new TermsRefused('unreadable_terms', own`the listing isn’t a city thing`, {
      nextStep: own`Buy it with buy.`,
    });
  }
  if (listing.world_asset_id === null || amountUnits === null) {
    throw new TermsRefused('unreadable_terms', own`the listing can’t be read`);
  }
  if (listing.city_url !== city.baseUrl) {
    const nextStep = own`Use a client of the listing’s city, which is in city_url.`;
    throw new TermsRefused('unreadable_terms', own`the listing belongs to another city`, { nextStep });
  }
  if (amountUnits > maxUnits) throw new TermsRefused('price_above_limit', own`the price is above maxPriceUsdc`);
  refuseOwnGoods(listing.seller_wallet, wallet.address);
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

/** Call only once per saved purchase, because any failure from here on may leave a transfer on the chain. */
async function sendOnce(
  options: BuyThingOptions,
  { store, key, draft }: { store: ThingStore; key: string; draft: SavedThing },
): Promise<SavedThing> {
  const { to, units, asset, chainId } = soughtTransferOf(draft);
  let hash: Hex;
  try {
    hash = (await options.wallet.sendUsdc({ to, units, asset, chainId })).toLowerCase() as Hex;
  } catch (cause) {
    if (!(cause instanceof TransferNotSent)) throw new ThingMayBePaid(soughtTransferOf(draft), cause);
    await store.clear(key);
    throw cause;
  }
  const sent = { ...draft, tx_hash: hash };
  try {
    await store.save(key, sent);
  } catch (cause) {
    throw new ThingUndecided(`The transfer’s hash couldn’t be saved (call again with resume: '${hash}')`, sent, cause);
  }
  options.onProgress?.({ phase: 'sent', txHash: hash });
  return sent;
}

function soughtTransferOf(saved: SavedThing): SoughtTransfer {
  return {
    ...{ from: saved.payer, to: saved.payee, units: BigInt(saved.amount_units) },
    ...{ asset: saved.asset, chainId: saved.chain_id, since: saved.reserved_at, until: saved.reserved_until },
  };
}

/** Claims the thing in the city until it changes hands, then asks the market to sync until it has recorded the sale. Sends no money. */
async function recordSale(options: BuyThingOptions, saved: SavedThing, startedMs: number): Promise<WorldReceipt> {
  const hash = saved.tx_hash ?? '0x';
  const until = repeatUntilDone(options, saved, startedMs);
  await until(() => claimThing(options, saved, hash));
  options.onProgress?.({ phase: 'claimed', txHash: hash });
  const receipt = await until(() => syncSale(options, saved));
  options.onProgress?.({ phase: 'recorded', txHash: hash });
  return receipt;
}

type StepAnswer<Done> = { done: Done } | { pauseSeconds: number };

async function claimThing(
  { city, signal, onProgress }: BuyThingOptions,
  saved: SavedThing,
  hash: Hex,
): Promise<StepAnswer<true>> {
  const answer = await city.claimOffer({
    params: { id: saved.offer_id },
    body: { tx_hash: hash, payer_signature: saved.payer_signature },
    signal,
  });
  if (answer.status === 200) return { done: true };
  onProgress?.({ phase: 'pending', txHash: hash });
  return { pauseSeconds: answer.body.retry_after_seconds };
}

async function syncSale({ market, signal }: BuyThingOptions, saved: SavedThing): Promise<StepAnswer<WorldReceipt>> {
  const { body } = await market.syncWorld({ params: { listing_id: saved.listing_id }, body: {}, signal });
  if (body.purchase !== undefined) {
    const { world_receipt: receipt } = body.purchase;
    if (receipt.tx_hash === saved.tx_hash) return { done: receipt };
    throw new ThingRefused('The market recorded a different sale of this thing', saved, {});
  }
  if (body.retry === 'never') throw new ThingRefused(`The market says ${body.status}: ${body.next_step}`, saved, {});
  return { pauseSeconds: body.retry_after_seconds ?? 2 };
}

/** Repeats a request until it is done, at the pace that the server asks for. */
function repeatUntilDone(options: BuyThingOptions, saved: SavedThing, startedMs: number) {
  const endMs = startedMs + (options.maxWaitSeconds ?? DEFAULT_WAIT_SECONDS) * 1_000;
  return async <Done>(ask: () => Promise<StepAnswer<Done>>): Promise<Done> => {
    for (let failures = 0; ; ) {
      let pause: number;
      let error: unknown;
      try {
        const answer = await ask();
        if ('done' in answer) return answer.done;
        failures = 0;
        pause = pauseSeconds(answer.pauseSeconds, undefined, failures);
      } catch (caught) {
        mustBeTemporary(caught, saved);
        failures += 1;
        error = caught;
        pause = pauseSeconds(null, caught, failures);
      }
      await pauseThing(options, saved, { seconds: pause, endMs, error });
    }
  };
}

function mustBeTemporary(error: unknown, saved: SavedThing): void {
  if (error instanceof UnreadableAnswer) return;
  if (!(error instanceof MarketError)) throw error;
  if (!isTemporary(error)) throw new ThingRefused(error.message, saved, { cause: error });
}

async function pauseThing(
  { market: { environment }, signal }: BuyThingOptions,
  saved: SavedThing,
  { seconds, endMs, error }: { seconds: number; endMs: number; error: unknown },
): Promise<void> {
  if (environment.now() + seconds * 1_000 > endMs) throw new ThingUndecided('Stopped waiting', saved, error);
  try {
    await environment.sleep(seconds * 1_000, signal);
  } catch (cause) {
    throw new ThingUndecided('Waiting was interrupted', saved, cause);
  }
}

/** The market is restored to before the sale of a thing, while the city keeps its own books. */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readBalance } from '../../src/platform/chain/usdc.ts';
import type { LogCopyPlace } from '../../src/platform/log-copy/place.ts';
import { type HistoryWorld, loseTo, openHistoryWorld, recoverHistory, until } from '../support/history-world.ts';
import type { Answer } from '../support/market-world.ts';
import type { PostgresServer } from '../support/standby-postgres.ts';
import { type Person, type Reservation, type Sites, startSites, type Thing } from '../world/thing-stage.ts';

let history: HistoryWorld;
let sites: Sites;
let place: LogCopyPlace;
let seller: Person;
let buyer: Person;

beforeEach(async () => {
  history = await openHistoryWorld();
  place = await history.newHost();
  sites = await startSites({ market: { db: history.db, logCopy: place, worldEveryMs: 100 } });
  [seller, buyer] = [await sites.person('seller'), await sites.person('buyer')];
});
afterEach(async () => {
  await sites.stop();
  await history.stop();
});

const said = ({ status, body }: Answer): unknown[] => [status, body['reason'], body['do_not_pay_again']];
const balanceOf = ({ wallet }: Person): Promise<bigint> => {
  const { rpc, config } = sites.market.running.market;
  return readBalance(rpc, config.network.usdc, wallet.address);
};

interface Sale {
  thing: Thing;
  reservation: Reservation;
  txHash: string;
}

/** Sells a thing, up to the claim in the city. The market has then recorded the sale. */
async function sell(thing: Thing): Promise<Sale> {
  const reservation = await sites.hold(buyer, thing);
  const txHash = await sites.pay(buyer, reservation);
  await sites.finalize();
  expect((await sites.claim(buyer, thing, reservation, txHash)).status).toBe(200);
  expect((await sites.sync(thing)).body['status']).toBe('completed');
  return { thing, reservation, txHash };
}

async function loseAndRecover(backup: PostgresServer, meanwhile: () => Promise<void> = async () => {}): Promise<void> {
  const lost = { history, world: sites.market, place };
  await loseTo(backup, lost);
  await meanwhile();
  await recoverHistory(sites.market, place);
}

const readMarket = (path: string): Promise<Answer> => sites.market.ask('GET', path);

/** Checks that the buyer owns the thing in the city and that no payment was made since. */
async function expectSoldInTheCity({ thing, txHash }: Sale, paid: bigint): Promise<void> {
  expect(await sites.offer(thing)).toMatchObject({ phase: 'claimed', locked: false, tx_hash: txHash });
  expect(await sites.owner(thing)).toBe(buyer.resident.handle);
  expect(await balanceOf(buyer)).toBe(paid);
}

test('a sale whose checkout was lost is recorded again by what city and chain show', async () => {
  const thing = await sites.thing(seller);
  const next = await sites.thing(seller);
  const backup = await history.primary.copyWhileRunning();
  const opened = await sites.checkout(buyer, next);
  const { id: unused } = opened.body['checkout'] as { id: number };
  const sale = await sell(thing);
  const { world_receipt: receipt } = await sites.listing(thing);
  const paid = await balanceOf(buyer);
  await loseAndRecover(backup, async () => {
    expect(said(await sites.checkout(buyer, thing))).toEqual([503, 'history_lost', true]);
    expect(said(await sites.sync(thing))).toEqual([503, 'history_lost', true]);
  });

  // Sends no request, because the market checks its things on its own after a recovery.
  await until(async () => (await sites.listing(thing))['state'] === 'sold');
  expect(await sites.listing(thing)).toMatchObject({
    state: 'sold',
    world_state: 'sold',
    sales: 1,
    world_receipt: receipt,
  });
  expect((await sites.sync(thing)).body).toMatchObject({ status: 'completed', do_not_pay_again: true });
  expect((await sites.checkout(buyer, thing)).body['reason']).toBe('listing_unavailable');
  const { body } = await sites.market.ask('GET', '/api/purchases', { key: buyer.merchant.key });
  expect(body['purchases']).toMatchObject([{ verified_via: 'city', world_receipt: receipt }]);
  await expectSoldInTheCity(sale, paid);
  // A lost checkout reserves nothing. A new one has a different id and sells as usual.
  expect(said(await sites.reserve(buyer, next, unused))).toEqual([409, 'checkout_mismatch', false]);
  const later = await sites.hold(buyer, next);
  expect(later.checkoutId).toBeGreaterThan(1_000_000);
});

test('a lost checkout is no broken term: the sale waits until its buyer is known, and no other has it', async () => {
  const thing = await sites.thing(seller);
  const link = async (handle: string | null): Promise<unknown> =>
    await sites.market.ask('POST', '/api/city-link', { key: buyer.merchant.key, body: { city_handle: handle } });
  await link(null);
  const backup = await history.primary.copyWhileRunning();
  await link(buyer.resident.handle);
  const sale = await sell(thing);
  const paid = await balanceOf(buyer);
  await loseAndRecover(backup);
  expect((await sites.sync(thing)).body).toMatchObject({
    status: 'claimed',
    do_not_pay_again: true,
    retry: 'same_request',
  });
  expect(await sites.listing(thing)).toMatchObject({ sales: 0, world_receipt: null });
  expect(said(await readMarket(`/api/world/checkout/${sale.reservation.checkoutId}`))).toEqual([
    409,
    'listing_lost',
    true,
  ]);
  await link(buyer.resident.handle);
  expect((await sites.sync(thing)).body).toMatchObject({
    status: 'completed',
    purchase: { market_buyer: buyer.merchant.handle },
  });
  await expectSoldInTheCity(sale, paid);
});

test('a sale whose draft was lost stays a sale in the city, and the market asks no buyer to pay', async () => {
  const backup = await history.primary.copyWhileRunning();
  const thing = await sites.thing(seller);
  const sale = await sell(thing);
  const paid = await balanceOf(buyer);
  await loseAndRecover(backup);
  expect(said(await readMarket(`/api/world/draft/${thing.draftId}`))).toEqual([409, 'listing_lost', true]);
  expect(said(await readMarket(`/api/world/checkout/${sale.reservation.checkoutId}`))).toEqual([
    409,
    'listing_lost',
    true,
  ]);
  const lost = await sites.checkout(buyer, thing);
  expect(said(lost)).toEqual([409, 'listing_lost', true]);
  expect(lost.body['payee']).toBe(sale.reservation.seller_wallet);
  expect(said(await sites.sync(thing))).toEqual([409, 'listing_lost', true]);
  expect((await readMarket(`/api/listing/${thing.listingId}`)).status).toBe(404);
  const body = { draft_id: thing.draftId, city_offer_id: thing.offerId };
  const listed = await sites.market.ask('POST', '/api/world/listing', { key: seller.merchant.key, body });
  expect(said(listed)).toEqual([409, 'listing_lost', true]);
  await expectSoldInTheCity(sale, paid);
  // A lost draft cannot become an offer.
  const { key } = seller.resident;
  const made = await sites.city.ask('POST', '/api/thing', { key, body: { name: 'Another one' } });
  const offer = { market_draft_id: thing.draftId + 1, thing_id: (made.body['thing'] as { id: number }).id };
  expect(said(await sites.city.ask('POST', '/api/world/offer', { key, body: offer })).slice(0, 2)).toEqual([
    404,
    'not_found',
  ]);
  const again = await sites.thing(seller);
  expect(again.draftId).toBeGreaterThan(1_000_000);
  expect(again.listingId).toBeGreaterThan(1_000);
});

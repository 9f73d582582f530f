/** Sells things over both sites, with real databases, a real chain, and a proxy between the sites. */
import { expect, test } from 'vitest';
import type { Answer } from '../support/market-world.ts';
import { latestSecond, type Person, PRICE, type Reservation, secondOf, type Thing, testSites } from './thing-stage.ts';

const sites = testSites();
const HOUR = 3_600;

const phaseIn = (answer: Answer): unknown => (answer.body['offer'] as { phase?: unknown } | undefined)?.phase;
const phaseOf = async (thing: Thing): Promise<unknown> => (await sites.offer(thing))['phase'];

async function thingForSale(): Promise<{ thing: Thing; buyer: Person }> {
  const thing = await sites.thing(await sites.person('seller'));
  return { thing, buyer: await sites.person('buyer') };
}

async function holdThing(): Promise<{ thing: Thing; buyer: Person; reservation: Reservation }> {
  const { thing, buyer } = await thingForSale();
  return { thing, buyer, reservation: await sites.hold(buyer, thing) };
}

/** Checks that neither the city nor the market counts the thing as sold. */
async function expectUnsold(thing: Thing): Promise<void> {
  expect(await sites.owner(thing)).toBe(thing.seller.resident.handle);
  const listing = await sites.listing(thing);
  expect(listing).toMatchObject({ sales: 0, world_receipt: null });
  expect(listing['state']).not.toBe('sold');
}

test('a thing is sold: the city waits for finality, the market looks for itself, and both have the same transfer', async () => {
  const { thing, buyer, reservation } = await holdThing();
  expect(secondOf(reservation.reserved_until) - secondOf(reservation.reserved_at)).toBe(300);
  const hash = await sites.pay(buyer, reservation);
  const early = await sites.claim(buyer, thing, reservation, hash);
  expect([early.status, phaseIn(early)]).toEqual([202, 'payment_pending']);
  expect(early.body).toMatchObject({ do_not_pay_again: true, retry: 'same_request' });
  expect((await sites.sync(thing)).body).toMatchObject({ status: 'payment_pending', do_not_pay_again: true });
  await expectUnsold(thing);
  await sites.finalize();
  const claimed = await sites.claim(buyer, thing, reservation, hash);
  expect([claimed.status, phaseIn(claimed)]).toEqual([200, 'claimed']);
  expect(await sites.owner(thing)).toBe(buyer.resident.handle);
  const synced = await sites.sync(thing);
  expect(synced.body).toMatchObject({ status: 'completed', world_state: 'sold', do_not_pay_again: true });
  const receipt = {
    offer_id: thing.offerId,
    thing_id: thing.thingId,
    city_handle: buyer.resident.handle,
    tx_hash: hash,
  };
  expect(await sites.listing(thing)).toMatchObject({ state: 'sold', sales: 1, world_receipt: receipt });
  const again = await sites.sync(thing);
  expect(again.body).toEqual(synced.body);
  const { body } = await sites.market.ask('GET', '/api/purchases', { key: buyer.merchant.key });
  expect(body['purchases']).toMatchObject([{ verified_via: 'city', world_receipt: receipt, artifact: null }]);
  await sites.market.running.eventsSettled();
  const events = await sites.market.ask('GET', '/api/events?kind=world_sale');
  const own = (events.body['events'] as { detail: Record<string, unknown>; actor: string }[]).filter(
    ({ detail }) => detail['listing_id'] === thing.listingId,
  );
  expect(own).toHaveLength(1);
  expect(own[0]?.actor).toBe(buyer.merchant.handle);
});

test('of two buyers one reserves and pays; the other is told before paying', async () => {
  const { thing, buyer } = await thingForSale();
  const other = await sites.person('other');
  await sites.time.moveOn(sites.market, 1);
  const checkouts = await Promise.all([sites.checkout(buyer, thing), sites.checkout(other, thing)]);
  const ids = checkouts.map(({ body }) => (body['checkout'] as { id: number }).id);
  const answers = await Promise.all([
    sites.reserve(buyer, thing, ids[0] ?? 0),
    sites.reserve(other, thing, ids[1] ?? 0),
  ]);
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
  const lost = answers.find(({ status }) => status === 409);
  expect(lost?.body).toMatchObject({ reason: 'offer_reserved', do_not_pay_again: false });
  const isFirst = answers[0]?.status === 201;
  const winner = isFirst ? buyer : other;
  const reservation = answers[isFirst ? 0 : 1]?.body['reservation'] as Reservation;
  const hash = await sites.pay(winner, reservation);
  await sites.finalize();
  expect((await sites.claim(winner, thing, reservation, hash)).status).toBe(200);
  // The other buyer cannot claim this payment, which it did not make.
  const stranger = isFirst ? other : buyer;
  expect((await sites.claim(stranger, thing, reservation, hash)).status).toBe(409);
  expect(await sites.owner(thing)).toBe(winner.resident.handle);
});

test('who pays in the last second has the thing, though another wants to reserve it before the claim comes', async () => {
  const { thing, buyer, reservation } = await holdThing();
  const other = await sites.person('other');
  const until = secondOf(reservation.reserved_until);
  const hash = await sites.pay(buyer, reservation, PRICE, until - 1);
  await sites.time.moveTo(sites.market, until + 5);
  const opened = await sites.checkout(other, thing);
  const { id } = opened.body['checkout'] as { id: number };
  const refused = await sites.reserve(other, thing, id);
  expect(refused.body).toMatchObject({ reason: 'offer_reserved', do_not_pay_again: false });
  expect(await phaseOf(thing)).toBe('payment_pending');
  await sites.finalize();
  expect((await sites.claim(buyer, thing, reservation, hash)).status).toBe(200);
  expect(await sites.owner(thing)).toBe(buyer.resident.handle);
});

test('an unpaid reservation is free again, and who let it lapse waits for half an hour', async () => {
  const { thing, buyer, reservation } = await holdThing();
  await sites.time.moveTo(sites.market, secondOf(reservation.reserved_until));
  const other = await sites.person('other');
  const next = await sites.hold(other, thing);
  expect(next.id).not.toBe(reservation.id);
  const own = await sites.checkout(buyer, thing);
  await sites.time.moveTo(sites.market, secondOf(next.reserved_until) + 1);
  const { id } = own.body['checkout'] as { id: number };
  expect((await sites.reserve(buyer, thing, id)).body).toMatchObject({ reason: 'reservation_pause' });
  await sites.time.moveOn(sites.market, 1_800);
  await sites.hold(buyer, thing);
});

test.each([
  ['one second before the reservation', -1, 'payment_invalid'],
  ['in its first second', 0, 'claimed'],
] as const)('a transfer %s: %s', async (_, offset, wanted) => {
  const { thing, buyer } = await thingForSale();
  const paidAt = (await latestSecond(sites.market)) + 10;
  const hash = await sites.pay(buyer, { seller_wallet: thing.seller.wallet.address }, PRICE);
  const minedAt = await latestSecond(sites.market);
  expect(minedAt).toBeLessThan(paidAt);
  // The transfer must be in the latest block or the one before.
  if (offset < 0) await sites.time.moveOn(sites.market, 1);
  const opened = await sites.checkout(buyer, thing);
  const { id } = opened.body['checkout'] as { id: number };
  const reserved = await sites.reserve(buyer, thing, id);
  const reservation = reserved.body['reservation'] as Reservation;
  expect(minedAt - secondOf(reservation.reserved_at)).toBe(offset);
  await sites.finalize();
  const claimed = await sites.claim(buyer, thing, reservation, hash);
  expect(await phaseOf(thing)).toBe(wanted);
  if (wanted === 'claimed') expect(claimed.status).toBe(200);
  else {
    expect([claimed.status, claimed.body['reason']]).toEqual([422, 'world_payment_invalid']);
    await expectUnsold(thing);
  }
});

test.each([
  ['in its last second', -1, 'claimed'],
  ['in the second in which it ends', 0, 'payment_invalid'],
] as const)('a transfer %s', async (_, offset, wanted) => {
  const { thing, buyer, reservation } = await holdThing();
  const hash = await sites.pay(buyer, reservation, PRICE, secondOf(reservation.reserved_until) + offset);
  const pending = await sites.claim(buyer, thing, reservation, hash);
  expect(pending.status).toBe(202);
  await sites.finalize();
  const decided = await sites.claim(buyer, thing, reservation, hash);
  expect([decided.status, await phaseOf(thing)]).toEqual([wanted === 'claimed' ? 200 : 422, wanted]);
});

test('too little is invalid for good: nothing is sold, the seller cancels, and the market closes the listing', async () => {
  const { thing, buyer, reservation } = await holdThing();
  const hash = await sites.pay(buyer, reservation, PRICE - 1n);
  await sites.finalize();
  const claimed = await sites.claim(buyer, thing, reservation, hash);
  expect(claimed.body).toMatchObject({ reason: 'world_payment_invalid', do_not_pay_again: true });
  expect((await sites.sync(thing)).body).toMatchObject({ status: 'payment_invalid', do_not_pay_again: true });
  await expectUnsold(thing);
  await expectCanceled(thing);
});

test('a transfer from another wallet is invalid, with any signature', async () => {
  const { thing, buyer, reservation } = await holdThing();
  const friend = await sites.person('friend');
  const hash = await sites.pay(friend, reservation);
  await sites.finalize();
  const claimed = await sites.claim(buyer, thing, reservation, hash);
  expect([claimed.status, await phaseOf(thing)]).toEqual([422, 'payment_invalid']);
  await expectUnsold(thing);
});

test('a signature of another wallet, and a transaction that is none, change nothing', async () => {
  const { thing, buyer, reservation } = await holdThing();
  const friend = await sites.person('friend');
  const hash = await sites.pay(buyer, reservation);
  const forged = await sites.claim({ ...buyer, wallet: friend.wallet }, thing, reservation, hash);
  expect([forged.status, forged.body['reason']]).toEqual([422, 'signature_invalid']);
  const nowhere = await sites.claim(buyer, thing, reservation, `0x${'ab'.repeat(32)}`);
  expect([nowhere.status, phaseIn(nowhere)]).toEqual([202, 'reserved']);
  await sites.finalize();
  expect((await sites.claim(buyer, thing, reservation, hash)).status).toBe(200);
});

test('one transfer buys one thing', async () => {
  const seller = await sites.person('seller');
  const [first, second] = [await sites.thing(seller), await sites.thing(seller)];
  const buyer = await sites.person('buyer');
  const [one, two] = [await sites.hold(buyer, first), await sites.hold(buyer, second)];
  const hash = await sites.pay(buyer, one);
  await sites.finalize();
  const answers = await Promise.all([sites.claim(buyer, first, one, hash), sites.claim(buyer, second, two, hash)]);
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
  const owners = await Promise.all([sites.owner(first), sites.owner(second)]);
  expect(owners.filter((owner) => owner === buyer.resident.handle)).toHaveLength(1);
});

test('a city that stops after the claim finds the sale by itself when it is back', async () => {
  const { thing, buyer, reservation } = await holdThing();
  const hash = await sites.pay(buyer, reservation);
  expect((await sites.claim(buyer, thing, reservation, hash)).status).toBe(202);
  await sites.restartCity();
  await sites.finalize();
  await sites.city.running.sweep.sweepOnce();
  expect(await phaseOf(thing)).toBe('claimed');
  expect((await sites.sync(thing)).body['status']).toBe('completed');
});

test('without finality for two hours: a transfer that fitted is kept for a person, one that did not is over; both can be canceled', async () => {
  for (const [units, wanted] of [
    [PRICE, 'founder_review'],
    [PRICE - 1n, 'payment_expired'],
  ] as const) {
    const { thing, buyer, reservation } = await holdThing();
    const hash = await sites.pay(buyer, reservation, units);
    expect((await sites.claim(buyer, thing, reservation, hash)).status).toBe(202);
    // This mines one block, so nothing becomes final.
    await sites.time.moveOn(sites.market, 2 * HOUR + 5);
    await sites.city.running.sweep.sweepOnce();
    expect(await phaseOf(thing)).toBe(wanted);
    expect((await sites.sync(thing)).body).toMatchObject({ status: wanted, do_not_pay_again: true });
    await expectUnsold(thing);
    await expectCanceled(thing);
  }
});

test('a sale of yesterday is recorded when the market looks', async () => {
  const { thing, buyer, reservation } = await holdThing();
  const hash = await sites.pay(buyer, reservation);
  await sites.finalize();
  expect((await sites.claim(buyer, thing, reservation, hash)).status).toBe(200);
  sites.toCity.twist(() => 'hang_up');
  await sites.time.moveOn(sites.market, 24 * HOUR);
  expect((await sites.sync(thing)).body).toMatchObject({ reason: 'city_unavailable', do_not_pay_again: true });
  sites.toCity.twist(null);
  expect((await sites.sync(thing)).body['status']).toBe('completed');
});

async function expectCanceled(thing: Thing): Promise<void> {
  const { key } = thing.seller.resident;
  const canceled = await sites.city.ask('POST', `/api/world/offer/${thing.offerId}/cancel`, { key, body: {} });
  expect([canceled.status, phaseIn(canceled)]).toEqual([200, 'canceled']);
  expect((await sites.sync(thing)).body).toMatchObject({ status: 'canceled', world_state: 'canceled' });
  expect(await sites.listing(thing)).toMatchObject({ state: 'canceled', sales: 0 });
  const { body } = await sites.city.ask('GET', `/api/thing/${thing.thingId}`);
  expect(body['thing']).toMatchObject({ locked: false, owner: thing.seller.resident.handle });
}

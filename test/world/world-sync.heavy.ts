import sql from 'sql-template-tag';
import { describe, expect, it, test } from 'vitest';
import { OFFER_PHASES, type OfferOut } from '../../src/contract/world-records.ts';
import { STALE_AFTER_MS } from '../../src/market/world/sync/listed-offer.ts';
import { eventsOf } from '../support/listing-life.ts';
import { offerPath, sendJson } from '../support/scripted-city.ts';
import { seedListing } from '../support/seed.ts';
import { thingTrade } from './thing-trade.ts';

const trade = await thingTrade();
const { world, city, seller, buyer, thing, show, checkout, bought, sync, rowOf, checkoutState, worldPass } = trade;
const database = () => world.db.database;

/** Backdates the moment at which the city's offer started to differ. */
const since = (id: bigint, ms: number) =>
  database().run(sql`
    update world_listings set differs_since = differs_since - make_interval(secs => ${ms / 1_000}) where listing_id = ${id}`);

describe('what the city says of an offer', () => {
  const told: Record<string, [doNotPayAgain: boolean, nextStep: RegExp]> = {
    listed: [false, /open a checkout/],
    reserved: [false, /only if the reservation is yours/],
    payment_pending: [true, /Do not pay again/],
    payment_invalid: [true, /cancels the offer.*\/api\/world\/offer\/\d+\/cancel/],
    payment_expired: [true, /cancels the offer.*\/api\/world\/offer\/\d+\/cancel/],
    founder_review: [true, /cancels the offer.*\/api\/world\/offer\/\d+\/cancel/],
  };

  test.each(Object.entries(told))('%s is told, and sells nothing', async (phase, [doNotPayAgain, nextStep]) => {
    const lamp = await thing();
    show(lamp, { phase: phase as OfferOut['phase'] });
    const answer = await sync(lamp);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual({
      listing_id: Number(lamp.id),
      status: phase,
      world_state: 'active',
      next_step: expect.stringMatching(nextStep),
      do_not_pay_again: doNotPayAgain,
      retry: 'same_request',
      retry_after_seconds: expect.any(Number),
    });
    expect(await rowOf(lamp)).toMatchObject({ state: 'live', phase, sales: 0n });
    expect(await eventsOf(database(), lamp.id)).toEqual([]);
  });

  it('those, claimed and canceled are all phases there are', () => {
    expect([...Object.keys(told), 'claimed', 'canceled'].sort()).toEqual([...OFFER_PHASES].sort());
  });

  it('canceled ends the listing once, for twenty who ask at once, and closes its checkouts', async () => {
    const lamp = await thing();
    const opened = await checkout(lamp);
    show(lamp, { phase: 'canceled' });
    const answers = await Promise.all(Array.from({ length: 20 }, () => sync(lamp)));
    for (const { status, body } of answers) {
      expect([status, body]).toMatchObject([200, { status: 'canceled', world_state: 'canceled', retry: 'never' }]);
    }
    expect(await rowOf(lamp)).toMatchObject({ state: 'canceled', phase: 'canceled', sales: 0n });
    expect(await checkoutState(opened)).toBe('closed');
    const offer = { listing_id: Number(lamp.id), merchant_id: Number(seller.id), offer_id: Number(lamp.offerId) };
    expect(await eventsOf(database(), lamp.id)).toEqual([{ kind: 'world_canceled', actor: 'system', detail: offer }]);
  });

  it('what has ended is told from the records, and the city is not asked', async () => {
    const lamp = await thing();
    show(lamp, { phase: 'canceled' });
    await sync(lamp);
    const asked = city.asked.length;
    show(lamp, { phase: 'listed' });
    expect((await sync(lamp)).body).toMatchObject({ status: 'canceled', do_not_pay_again: true });
    expect(city.asked).toHaveLength(asked);
  });
});

describe('who asks, and for what', () => {
  it('any merchant with a key, and none without', async () => {
    const lamp = await thing();
    expect((await sync(lamp, await world.join('another-merchant'))).body).toMatchObject({ status: 'listed' });
    expect((await world.ask('POST', `/api/world/sync/${lamp.id}`)).status).toBe(401);
  });

  it('a listing that is there, and of a thing', async () => {
    expect((await sync({ id: 99_999n })).body).toMatchObject({ status: 404, reason: 'not_found' });
    const goods = await seedListing(database(), seller.id);
    expect((await sync(goods)).body).toMatchObject({ status: 409, reason: 'not_world_listing' });
  });

  it('and of the city that this market is linked with', async () => {
    const moved = await thing({ origin: 'https://old.example' });
    expect((await sync(moved)).body).toMatchObject({ status: 503, reason: 'city_unavailable' });
  });
});

describe('a city that cannot be read', () => {
  it('changes nothing, and who may have paid is told not to pay again', async () => {
    const lamp = await thing();
    const before = await rowOf(lamp);
    city.answer(offerPath(lamp.offerId), (to) => sendJson(to, 500, {}));
    const early = await sync(lamp);
    expect(early.body).toMatchObject({ status: 503, reason: 'city_unavailable', do_not_pay_again: false });
    expect(early.body).toMatchObject({ retry: 'same_request' });
    show(lamp);
    const opened = await checkout(lamp);
    city.answer(offerPath(lamp.offerId), { offer: 'none' });
    const late = await sync(lamp);
    expect(late.body).toMatchObject({ status: 503, do_not_pay_again: true, retry: 'same_request' });
    expect(late.headers.get('retry-after')).toBe('2');
    expect(await rowOf(lamp)).toEqual(before);
    expect(await checkoutState(opened)).toBe('open');
  });

  it('after a phase in which a buyer held it, a payment may exist as well', async () => {
    const lamp = await thing();
    show(lamp, { phase: 'reserved' });
    await sync(lamp);
    city.answer(offerPath(lamp.offerId), (to) => to.destroy());
    expect((await sync(lamp)).body).toMatchObject({ status: 503, do_not_pay_again: true });
  });
});

describe('another offer than the one that was listed, or none', () => {
  const others: [string, Partial<OfferOut> | null, string][] = [
    ['none', null, 'id'],
    ['another price, claimed', { price_usdc: 3, phase: 'claimed' }, 'price_usdc'],
  ];

  test.each(others)('%s: waited for, and then it is stale', async (_name, changes, path) => {
    const lamp = await thing();
    const opened = await checkout(lamp);
    if (changes === null) city.answer(offerPath(lamp.offerId), null);
    else show(lamp, changes);
    const first = await sync(lamp);
    expect(first.body).toMatchObject({ status: 503, reason: 'city_unavailable', errors: [{ path }] });
    await since(lamp.id, STALE_AFTER_MS - 5_000);
    expect((await sync(lamp)).status).toBe(503);
    expect(await rowOf(lamp)).toMatchObject({ state: 'live', phase: 'listed' });
    await since(lamp.id, 5_000);
    const stale = await sync(lamp);
    expect(stale.body).toMatchObject({ status: 'stale', world_state: 'stale', do_not_pay_again: true });
    expect((await sync(lamp)).body).toEqual(stale.body);
    expect(await checkoutState(opened)).toBe('closed');
    expect(await eventsOf(database(), lamp.id)).toEqual([]);
  });

  it('a check that finds the right offer in between begins the wait again', async () => {
    const lamp = await thing();
    show(lamp, { price_usdc: 3 });
    await sync(lamp);
    await since(lamp.id, STALE_AFTER_MS);
    show(lamp);
    expect((await sync(lamp)).body).toMatchObject({ status: 'listed' });
    show(lamp, { price_usdc: 3 });
    expect((await sync(lamp)).status).toBe(503);
    expect((await rowOf(lamp)).state).toBe('live');
  });

  it('what is stale does not come back, and is sold all the same by the offer that was listed', async () => {
    const lamp = await thing();
    const paid = await bought(lamp);
    show(lamp, { price_usdc: 3 });
    await sync(lamp);
    await since(lamp.id, STALE_AFTER_MS);
    expect((await sync(lamp)).body).toMatchObject({ status: 'stale', retry: 'same_request' });
    show(lamp);
    expect((await sync(lamp)).body).toMatchObject({ status: 'stale', world_state: 'stale' });
    trade.claim(lamp, paid, paid.checkoutId);
    expect((await sync(lamp)).body).toMatchObject({ status: 'claimed', world_state: 'stale' });
    await world.finalize();
    expect((await sync(lamp)).body).toMatchObject({ status: 'completed', world_state: 'sold' });
    expect(await rowOf(lamp)).toMatchObject({ state: 'sold', sales: 1n, proofs: 1n });
    expect(await checkoutState(paid.checkoutId)).toBe('completed');
  });

  it('who asks twice is told the same, also where the city takes back a reservation', async () => {
    const lamp = await thing();
    show(lamp, { phase: 'payment_pending' });
    await sync(lamp);
    show(lamp, { price_usdc: 3, phase: 'payment_pending' });
    await sync(lamp);
    await since(lamp.id, STALE_AFTER_MS);
    expect((await sync(lamp)).body).toMatchObject({ status: 'stale', retry: 'same_request' });
    show(lamp);
    const first = await sync(lamp);
    expect(first.body).toMatchObject({ status: 'stale', retry: 'never' });
    expect((await sync(lamp)).body).toEqual(first.body);
  });

  it('what is stale can be canceled', async () => {
    const lamp = await thing();
    city.answer(offerPath(lamp.offerId), null);
    await sync(lamp);
    await since(lamp.id, STALE_AFTER_MS);
    expect((await sync(lamp)).body).toMatchObject({ status: 'stale', retry: 'never' });
    show(lamp, { phase: 'canceled' });
    expect((await sync(lamp)).body).toMatchObject({ status: 'canceled' });
  });
});

describe('the background pass', () => {
  /** Marks the listings of earlier tests as just checked, so that none is due for a check. */
  const settleOthers = () => database().run(sql`update world_listings set looked_at = now(), phase = 'listed'`);

  it('is on duty in a market with a city', async () => {
    await expect
      .poll(() =>
        world.logLines.some(({ event, fields }) => event === 'job_leader_acquired' && fields['name'] === 'world'),
      )
      .toBe(true);
  });

  it('records a sale without a request', async () => {
    await settleOthers();
    const lamp = await thing();
    await bought(lamp);
    await worldPass();
    expect(await rowOf(lamp)).toMatchObject({ state: 'live', phase: 'claimed' });
    await world.finalize();
    await worldPass();
    expect(await rowOf(lamp)).toMatchObject({ state: 'sold', sales: 1n });
  });

  it('checks each time what a buyer may be buying, and at the rest every ten minutes', async () => {
    await settleOthers();
    const [fresh, old, reserved, opened] = [await thing(), await thing(), await thing(), await thing()];
    await checkout(opened);
    const looked = (one: { id: bigint }, minutes: number, phase = 'listed') =>
      database().run(sql`
        update world_listings set looked_at = now() - make_interval(mins => ${minutes}), phase = ${phase}
        where listing_id = ${one.id}`);
    await Promise.all([looked(fresh, 9), looked(old, 11), looked(reserved, 0, 'reserved'), looked(opened, 0)]);
    show(reserved, { phase: 'reserved' });
    const seen = async () => {
      const before = city.asked.length;
      await worldPass();
      const asked = city.asked.slice(before);
      return [fresh, old, reserved, opened].map(({ offerId }) => asked.includes(offerPath(offerId)));
    };
    expect(await seen()).toEqual([false, true, true, true]);
    expect(await seen()).toEqual([false, false, true, true]);
  });

  it('goes on past one that it cannot make sense of', async () => {
    await settleOthers();
    const [bad, good] = [await thing(), await thing()];
    city.answer(offerPath(bad.offerId), { offer: 'none' });
    show(good, { phase: 'canceled' });
    await worldPass();
    expect((await rowOf(good)).state).toBe('canceled');
    expect((await rowOf(bad)).state).toBe('live');
  });

  it('asks a city that says nothing once, and the next time about another', async () => {
    await settleOthers();
    const things = [await thing(), await thing(), await thing()];
    city.answerAll((to) => to.destroy());
    const asked = city.asked.length;
    await worldPass();
    await worldPass();
    city.answerAll(null);
    const [first, second, ...more] = city.asked.slice(asked);
    expect(first).not.toBe(second);
    expect(more).toEqual([]);
    expect((await rowOf(things[0] ?? expect.fail())).state).toBe('live');
  });

  it('leaves alone what has ended, what is preserved, and what is of another city', async () => {
    await settleOthers();
    const [ended, preserved, moved] = [await thing(), await thing(), await thing({ origin: 'https://old.example' })];
    await database().run(sql`update listings set state = 'canceled' where id = ${ended.id}`);
    await database().run(sql`
      update world_listings set review_reason = 'wrong_payer', review_tx_hash = ${Buffer.alloc(32, 1)}, reviewed_at = now()
      where listing_id = ${preserved.id}`);
    const asked = city.asked.length;
    await worldPass();
    const wanted = [ended, preserved, moved].map(({ offerId }) => offerPath(offerId));
    expect(city.asked.slice(asked).filter((path) => wanted.includes(path))).toEqual([]);
  });
});

it('a merchant who links itself is shown so', async () => {
  const me = await world.ask('GET', '/api/me', { key: buyer.key });
  expect(JSON.stringify(me.body)).toContain('"city_handle":"bob"');
});

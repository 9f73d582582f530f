import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { giveThing } from '../../src/city/create-city.ts';
import { openOffer } from '../../src/city/offers/open-offer.ts';
import { checksummed } from '../../src/contract/chain-values.ts';
import { cityEndpoints } from '../../src/contract/city.ts';
import type { CheckoutOut, DraftOut } from '../../src/contract/world-records.ts';
import { isoTime } from '../../src/platform/clock.ts';
import { reasonOf } from '../support/ask.ts';
import { askCity, seedThing } from '../support/city-context.ts';
import { holdTransactionOpen, untilWaiting } from '../support/listing-life.ts';
import { citySale, type Person } from './city-sale.ts';

const sale = citySale();

const open = (caller: Person, draft: bigint | number, thing: bigint) =>
  askCity(sale.city, cityEndpoints.openOffer, openOffer, {
    caller,
    body: { market_draft_id: Number(draft), thing_id: Number(thing) },
  });
const thingOf = (owner: Person): Promise<bigint> => seedThing(sale.db.database, owner.id);
const offersOf = (thingId: bigint) =>
  sale.db.database.rows(sql`select id from offers where thing_id = ${thingId} order by id`);

it('an offer takes its terms from the draft; the same call again is told the same, also when the draft has gone on', async () => {
  const seller = await sale.person();
  const thing = await thingOf(seller);
  const draft = sale.draft(seller, thing);
  const made = await open(seller, draft, thing);
  expect(made).toMatchObject({
    status: 201,
    body: { offer: { phase: 'listed', price_usdc: 2.5, market_origin: sale.city.config.marketUrl, chain_id: 8453 } },
  });
  sale.draft(seller, thing, { id: Number(draft), state: 'listed', listing_id: 4 });
  expect(await open(seller, draft, thing)).toEqual({ status: 200, body: made.body });
  const second = sale.draft(seller, thing);
  await expect(open(seller, second, thing)).rejects.toMatchObject({
    reason: 'thing_locked',
    options: { fields: { offer_id: made.body.offer.id } },
  });
  const given = askCity(sale.city, cityEndpoints.giveThing, giveThing, {
    params: { id: thing.toString() },
    body: { to: (await sale.person()).handle },
    caller: seller,
  });
  expect(await reasonOf(given)).toBe('thing_locked');
});

it('the same call five times at once opens one offer', async () => {
  const seller = await sale.person();
  const thing = await thingOf(seller);
  const draft = sale.draft(seller, thing);
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => open(seller, draft, thing)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 201]);
  expect(await offersOf(thing)).toHaveLength(1);
});

it('two drafts of one thing at once open one offer', async () => {
  const seller = await sale.person();
  const thing = await thingOf(seller);
  const drafts = [1, 2, 3, 4].map(() => sale.draft(seller, thing));
  const reasons = await Promise.all(drafts.map((draft) => reasonOf(open(seller, draft, thing))));
  expect(reasons.toSorted()).toEqual(['none', 'thing_locked', 'thing_locked', 'thing_locked']);
});

it('who has given the thing away meanwhile does not offer it', async () => {
  const [seller, friend] = [await sale.person(), await sale.person()];
  const thing = await thingOf(seller);
  const giving = await holdTransactionOpen(sale.db.database, async (tx) => {
    await tx.run(sql`update things set owner_id = ${friend.id} where id = ${thing}`);
    await tx.run(
      sql`insert into thing_owners (thing_id, nth, owner_id, owned_from) values (${thing}, 2, ${friend.id}, now())`,
    );
  });
  const opened = reasonOf(open(seller, sale.draft(seller, thing), thing));
  await untilWaiting(sale.db.database);
  await giving.commit();
  expect(await opened).toBe('not_thing_owner');
  expect(await offersOf(thing)).toEqual([]);
});

it('a draft that does not fit opens nothing, and it is said what differs', async () => {
  const [seller, other] = [await sale.person(), await sale.person()];
  const thing = await thingOf(seller);
  const over = isoTime(sale.clock.now());
  const cases: [Partial<DraftOut>, string, RegExp][] = [
    [{ thing_id: 999 }, 'draft_mismatch', /the thing 999/],
    [{ state: 'canceled' }, 'draft_mismatch', /canceled, not pending/],
    [{ state: 'fee_pending' }, 'draft_mismatch', /fee_pending, not pending/],
    [{ expires_at: over }, 'draft_mismatch', /expired/],
    [{ price_usdc: 0 }, 'draft_mismatch', /price/],
    [{ price_usdc: 10_000.000_001 }, 'draft_mismatch', /price/],
    [{ seller: other.merchant }, 'link_missing', /names merchant-/],
  ];
  for (const [changes, reason, detail] of cases) {
    const tried = open(seller, sale.draft(seller, thing, changes), thing);
    await expect(tried, JSON.stringify(changes)).rejects.toMatchObject({ reason, message: detail });
  }
  expect(await reasonOf(open(seller, 999_999, thing))).toBe('not_found');
  expect(await reasonOf(open(seller, sale.draft(seller, 999n), 999n))).toBe('not_found');
  expect(await reasonOf(open(other, sale.draft(other, thing), thing))).toBe('not_thing_owner');
  expect(await offersOf(thing)).toEqual([]);
});

it('a link of one side only is none', async () => {
  const seller = await sale.person();
  const thing = await thingOf(seller);
  const draft = sale.draft(seller, thing);
  for (const merchant of [{ city_handle: null }, { city_handle: 'another-merchant' }]) {
    const body = { merchant: { handle: seller.merchant, ...merchant } };
    sale.show(`/api/store/${seller.merchant}?limit=1`, { status: 200, body });
    expect(await reasonOf(open(seller, draft, thing))).toBe('link_missing');
  }
  await sale.db.database.run(sql`update residents set market_handle = null where id = ${seller.id}`);
  expect(await reasonOf(open(seller, draft, thing))).toBe('link_missing');
});

it('a draft serves for one offer', async () => {
  const seller = await sale.person();
  const [thing, next] = [await thingOf(seller), await thingOf(seller)];
  const draft = sale.draft(seller, thing);
  const { offer } = (await open(seller, draft, thing)).body;
  await sale.db.database.run(sql`update offers set phase = 'canceled', canceled_at = now() where id = ${offer.id}`);
  expect(await open(seller, draft, thing)).toMatchObject({ status: 200, body: { offer: { phase: 'canceled' } } });
  sale.draft(seller, next, { id: Number(draft) });
  expect(await reasonOf(open(seller, draft, next))).toBe('draft_mismatch');
});

it('a checkout that does not fit reserves nothing, and it is said what differs', async () => {
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  const cases: [Partial<CheckoutOut>, RegExp][] = [
    [{ city_offer_id: 999 }, /for offer 999/],
    [{ city_handle: 'another-merchant' }, /made out to another-merchant/],
    [{ market_buyer: offer.seller.merchant }, /buyer is the seller/],
    [{ state: 'expired' }, /expired, not open/],
    [{ state: 'closed' }, /closed, not open/],
    [{ expires_at: isoTime(sale.clock.now()) }, /has expired/],
  ];
  for (const [changes, detail] of cases) {
    const checkout = sale.checkout(offer, buyer, changes);
    await expect(sale.reserve(offer, buyer, { checkout })).rejects.toMatchObject({
      reason: 'checkout_mismatch',
      message: detail,
    });
  }
  expect(await reasonOf(sale.reserve(offer, buyer, { checkout: 999_999 }))).toBe('checkout_mismatch');
  expect(await sale.phase(offer)).toBe('listed');
});

it('a seller cannot reserve its own thing, nor may the paid wallet pay', async () => {
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  expect(await reasonOf(sale.reserve(offer, offer.seller))).toBe('own_goods');
  expect(await reasonOf(sale.reserve(offer, buyer, { wallet: offer.seller.wallet.address }))).toBe('own_goods');
  expect(await reasonOf(sale.reserve({ ...offer, id: 999_999n }, buyer))).toBe('not_found');
});

it('the same reservation again is the same one while it runs; others, and another wallet, are told to wait', async () => {
  const [offer, buyer, other] = [await sale.offer(), await sale.person(), await sale.person()];
  const checkout = sale.checkout(offer, buyer);
  const reservation = await sale.reserve(offer, buyer, { checkout });
  expect(await sale.reserve(offer, buyer, { checkout })).toEqual(reservation);
  const held = { reason: 'offer_reserved', options: { retryAfterSeconds: 300 } };
  await expect(sale.reserve(offer, other)).rejects.toMatchObject(held);
  const wallet = other.wallet.address;
  await expect(sale.reserve(offer, buyer, { checkout, wallet })).rejects.toMatchObject(held);
  await expect(sale.reserve(offer, buyer)).rejects.toMatchObject(held);
});

it('where clock and chain disagree on the time nothing is reserved', async () => {
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  const now = sale.clock.now();
  const checkout = sale.checkout(offer, buyer);
  for (const [drift, reason] of [
    [31_000, 'chain_clock'],
    [-31_000, 'chain_clock'],
    [30_000, 'none'],
  ] as const) {
    sale.clock.set(now + drift);
    expect(await reasonOf(sale.reserve(offer, buyer, { checkout }))).toBe(reason);
  }
  sale.clock.set(now);
  expect(Date.parse((await sale.read(offer)).reserved_at ?? '')).toBe(now);
});

it('a seller cancels what is not reserved; the thing is free, and the last word is told again', async () => {
  const [offer, buyer] = [await sale.offer(), await sale.person()];
  expect(await reasonOf(sale.cancel(offer, buyer))).toBe('not_offer_seller');
  await sale.reserve(offer, buyer);
  await expect(sale.cancel(offer, offer.seller)).rejects.toMatchObject({
    reason: 'offer_busy',
    options: { retryAfterSeconds: 300 },
  });
  const free = await sale.offer();
  const canceled = await sale.cancel(free, free.seller);
  expect(canceled).toMatchObject({ phase: 'canceled', locked: false, canceled_at: isoTime(sale.clock.now()) });
  expect(await sale.cancel(free, free.seller)).toEqual(canceled);
  expect(await reasonOf(sale.reserve(free, buyer))).toBe('offer_closed');
  const again = sale.draft(free.seller, free.thingId, {
    price_usdc: 3,
    seller_wallet: checksummed(buyer.wallet.address),
  });
  expect((await open(free.seller, again, free.thingId)).body.offer).toMatchObject({ phase: 'listed', price_usdc: 3 });
});

it('a claim needs the signature of the payer’s wallet, and a bad one changes nothing', async () => {
  const [offer, buyer, thief] = [await sale.offer(), await sale.person(), await sale.person()];
  const { challenge } = await sale.reserve(offer, buyer);
  const txHash = await sale.pay({ from: buyer.wallet, to: offer.seller.wallet.address });
  expect(await reasonOf(sale.claim(offer, buyer, txHash, challenge, thief.wallet))).toBe('signature_invalid');
  expect(await reasonOf(sale.claim(offer, buyer, txHash, `${challenge} `))).toBe('signature_invalid');
  expect(await reasonOf(sale.claim(offer, thief, txHash, challenge, buyer.wallet))).toBe('reservation_over');
  expect(await sale.phase(offer)).toBe('reserved');
  expect((await sale.claim(offer, buyer, txHash, challenge)).status).toBe(200);
  expect(await reasonOf(sale.cancel(offer, offer.seller))).toBe('offer_closed');
});

it('an offer is reserved twenty times an hour, claimed sixty times', async () => {
  const [offer, buyer, other] = [await sale.offer(), await sale.person(), await sale.person()];
  const { challenge } = await sale.reserve(offer, buyer);
  const reasons: string[] = [];
  for (let tries = 0; tries < 21; tries += 1) reasons.push(await reasonOf(sale.reserve(offer, other)));
  expect(new Set(reasons.slice(0, 20))).toEqual(new Set(['offer_reserved']));
  expect(reasons[20]).toBe('rate_limited');
  const bad = `0x${'11'.repeat(65)}` as const;
  for (let tries = 0; tries < 60; tries += 1)
    await reasonOf(sale.claimWith(offer, buyer, bad.slice(0, 66) as typeof bad, bad));
  expect(await reasonOf(sale.claim(offer, buyer, `0x${'1'.repeat(64)}`, challenge))).toBe('rate_limited');
});

/** Tests a city that lies to the market, a market that lies to the city, and a chain with reorgs. */
import { expect, test } from 'vitest';
import type { Hex } from '../../src/platform/hex.ts';
import { rawTransaction, reorg } from '../support/chain.ts';
import type { SiteTwist } from '../support/site-proxy.ts';
import { must, PRICE, secondOf, type Thing, testSites } from './thing-stage.ts';

const sites = testSites();

type Fields = Record<string, unknown>;

/** Returns the city's offer with some fields changed. */
const offerWith =
  (changes: Fields): SiteTwist =>
  ({ path, json, status }) =>
    path.includes('/api/world/offer/')
      ? { status, json: { offer: { ...(json as { offer: Fields }).offer, ...changes } } }
      : null;

const LIES: readonly [string, SiteTwist][] = [
  ['a changed price', offerWith({ price_usdc: 1 })],
  ['another seller', offerWith({ seller: 'another-merchant' })],
  ['another wallet', offerWith({ seller_wallet: `0x${'11'.repeat(20)}` })],
  ['another chain', offerWith({ chain_id: 1 })],
  ['another thing', offerWith({ thing_id: 999_999 })],
  ['another offer', offerWith({ id: 999_999 })],
  ['no offer', () => ({ status: 404, json: { reason: 'not_found' } })],
  ['10 MB', () => ({ status: 200, text: `{"offer": "${'x'.repeat(10_000_000)}"}` })],
  ['a redirect', () => ({ status: 302, text: '', headers: { location: sites.city.url } })],
  ['a page', () => ({ status: 200, text: '<html></html>' })],
  ['nothing', () => 'hang_up'],
  ['silence', () => 'silence'],
];

test.each(LIES)(
  'a city that answers with %s sells nothing, and nothing is lost by it',
  async (_, lie) => {
    const thing = await sites.thing(await sites.person('seller'));
    const buyer = await sites.person('buyer');
    sites.toCity.twist(lie);
    const refused = await sites.checkout(buyer, thing);
    expect([409, 503]).toContain(refused.status);
    expect(refused.body['do_not_pay_again']).toBe(false);
    sites.toCity.twist(null);
    const reservation = await sites.hold(buyer, thing);
    const hash = await sites.pay(buyer, reservation);
    await sites.finalize();
    await must(sites.claim(buyer, thing, reservation, hash), 200);
    sites.toCity.twist(lie);
    const unsure = await sites.sync(thing);
    expect(unsure.body).toMatchObject({ reason: 'city_unavailable', retry: 'same_request', do_not_pay_again: true });
    expect(await sites.listing(thing)).toMatchObject({ state: 'live', sales: 0 });
    sites.toCity.twist(null);
    expect((await sites.sync(thing)).body['status']).toBe('completed');
  },
  30_000,
);

test.each([
  ['a smaller price', { price_usdc: 0.5 }],
  ['another wallet', { buyer_wallet: `0x${'22'.repeat(20)}` }],
  ['another transaction', { tx_hash: `0x${'33'.repeat(32)}` }],
  ['a longer window', { reserved_until: '2099-01-01T00:00:00.000Z' }],
])('a city that calls a thing claimed with %s gets no sale for it', async (_, changes) => {
  const thing = await sites.thing(await sites.person('seller'));
  const buyer = await sites.person('buyer');
  const reservation = await sites.hold(buyer, thing);
  const hash = await sites.pay(buyer, reservation);
  await sites.finalize();
  await must(sites.claim(buyer, thing, reservation, hash), 200);
  sites.toCity.twist(offerWith(changes));
  const answer = await sites.sync(thing);
  expect(answer.body['status']).not.toBe('completed');
  expect(await sites.listing(thing)).toMatchObject({ sales: 0 });
  sites.toCity.twist(null);
});

test('a market that lies to the city gets neither an offer nor a reservation', async () => {
  const seller = await sites.person('seller');
  const thing = await sites.thing(seller);
  const buyer = await sites.person('buyer');
  const opened = await must(sites.checkout(buyer, thing), 201);
  const { id } = opened['checkout'] as { id: number };
  await sites.time.moveOn(sites.market, 1);
  const checkoutWith =
    (changes: Fields): SiteTwist =>
    ({ path, json, status }) =>
      path.includes('/api/world/checkout/')
        ? { status, json: { checkout: { ...(json as { checkout: Fields }).checkout, ...changes } } }
        : null;
  for (const changes of [
    { city_handle: 'another-merchant' },
    { city_offer_id: 999_999 },
    { state: 'expired' },
    { expires_at: '2020-01-01T00:00:00.000Z' },
    { id: 999_999 },
  ]) {
    sites.toMarket.twist(checkoutWith(changes));
    const refused = await sites.reserve(buyer, thing, id);
    expect([409, 503], JSON.stringify(changes)).toContain(refused.status);
    expect(refused.body['do_not_pay_again']).toBe(false);
  }
  for (const lie of [() => 'hang_up' as const, () => ({ status: 302, text: '', headers: { location: '/' } })]) {
    sites.toMarket.twist(lie);
    expect((await sites.reserve(buyer, thing, id)).body['reason']).toBe('market_unavailable');
  }
  sites.toMarket.twist(null);
  expect((await sites.reserve(buyer, thing, id)).status).toBe(201);
}, 30_000);

async function paidAndClaimed(): Promise<{
  thing: Thing;
  again(): Promise<number>;
  hash: Hex;
  raw: Hex;
  until: number;
}> {
  const thing = await sites.thing(await sites.person('seller'));
  const buyer = await sites.person('buyer');
  const reservation = await sites.hold(buyer, thing);
  const hash = await sites.pay(buyer, reservation, PRICE);
  await must(sites.claim(buyer, thing, reservation, hash), 202);
  const raw = await rawTransaction(sites.market.chain, hash);
  const again = async (): Promise<number> => (await sites.claim(buyer, thing, reservation, hash)).status;
  return { thing, again, hash, raw, until: secondOf(reservation.reserved_until) };
}

test('a transfer that a reorganisation moves to another block is looked for there', async () => {
  const { thing, again, raw } = await paidAndClaimed();
  await reorg(sites.market.chain, 1, [[raw, 0]]);
  await sites.finalize();
  expect(await again()).toBe(200);
  expect((await sites.sync(thing)).body['status']).toBe('completed');
});

test('a transfer that a reorganisation takes away sells nothing, and is kept for a person to look at', async () => {
  const { thing, again } = await paidAndClaimed();
  await reorg(sites.market.chain, 1);
  await sites.finalize();
  expect(await again()).toBe(202);
  expect((await sites.offer(thing))['phase']).toBe('payment_pending');
  await sites.time.moveOn(sites.market, 7_205);
  await sites.city.running.sweep.sweepOnce();
  expect((await sites.offer(thing))['phase']).toBe('founder_review');
  expect((await sites.sync(thing)).body['status']).toBe('founder_review');
  expect(await sites.owner(thing)).toBe(thing.seller.resident.handle);
});

/** A site never stores, logs or receives the other site's key. */
import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { holdsSecret } from '../support/canary.ts';
import { tablesWithSecrets } from '../support/database.ts';
import { must, PRICE, testSites } from './thing-stage.ts';

const sites = testSites();
const shown = (lines: unknown): string => inspect(lines, { depth: 8, maxArrayLength: null, maxStringLength: null });

test('a whole sale leaves no key of either site in a log, a database or a request of the other', async () => {
  const { market, city } = sites;
  const thing = await sites.thing(await sites.person('seller'));
  const buyer = await sites.person('buyer');
  const reservation = await sites.hold(buyer, thing);
  const hash = await sites.pay(buyer, reservation, PRICE);
  await sites.finalize();
  await must(sites.claim(buyer, thing, reservation, hash), 200);
  expect((await sites.sync(thing)).body['status']).toBe('completed');
  // Send each site the other's key where it might accept it as its own.
  const [own, foreign] = [buyer.merchant.key, buyer.resident.key];
  const swapped = await Promise.all([
    market.ask('GET', '/api/me', { key: foreign }),
    city.ask('POST', '/api/thing', { key: own, body: { name: 'A thing without a buyer' } }),
  ]);
  expect(swapped.map(({ status, body }) => [status, body['reason']])).toEqual([
    [401, 'key_invalid'],
    [401, 'key_invalid'],
  ]);
  const told = await Promise.all([
    market.ask('POST', '/api/city-link', { key: own, body: { city_handle: foreign } }),
    city.ask('POST', '/api/market-link', { key: foreign, body: { market_handle: own } }),
    market.ask('POST', '/api/comment', { key: own, body: { listing_id: thing.listingId, body: `my key: ${foreign}` } }),
    city.ask('POST', '/api/thing', { key: foreign, body: { name: own } }),
    market.ask('GET', `/api/shelves?q=${foreign}`),
    city.ask('GET', `/api/resident/${own}`),
  ]);
  expect(told.map(({ status, body }) => [status, body['reason']])).toEqual(told.map(() => [400, 'secret_in_payload']));
  // The sites exchange only reads, without personal data.
  const between = [...sites.toCity.seen, ...sites.toMarket.seen];
  expect(sites.toCity.seen.length).toBeGreaterThan(3);
  expect(sites.toMarket.seen.length).toBeGreaterThan(2);
  for (const request of between) {
    expect([request.method, request.body]).toEqual(['GET', '']);
    expect(Object.keys(request.headers)).not.toContain('authorization');
    expect(Object.keys(request.headers)).not.toContain('cookie');
    expect(request.path.startsWith('/api/')).toBe(true);
    expect(holdsSecret(JSON.stringify(request))).toBe(false);
  }
  expect(holdsSecret(shown(market.logLines))).toBe(false);
  expect(holdsSecret(shown(city.logLines))).toBe(false);
  expect(await tablesWithSecrets(market.db.url)).toEqual([]);
  expect(await tablesWithSecrets(city.db.url)).toEqual([]);
});

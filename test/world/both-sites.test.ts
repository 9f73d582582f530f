import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BothSites, startBothSites } from './city-world.ts';

let sites: BothSites;
beforeAll(async () => {
  sites = await startBothSites();
});
afterAll(async () => {
  await sites.stop();
});

test('market and city name each other, and each knows its own keys alone', async () => {
  const { market, city } = sites;
  const merchant = await market.join('two-sites');
  const resident = await city.join('two-sites');
  const official = await market.ask('GET', '/api/official');
  expect(official.body).toMatchObject({ city: { url: city.url } });
  expect((await city.ask('GET', '/')).body).toMatchObject({ market: market.url });

  expect((await market.ask('GET', '/api/me', { key: merchant.key })).status).toBe(200);
  const made = await city.ask('POST', '/api/thing', { key: resident.key, body: { name: 'A lamp' } });
  expect(made.status).toBe(201);
  const foreign = [
    await market.ask('GET', '/api/me', { key: resident.key }),
    await city.ask('POST', '/api/thing', { key: merchant.key, body: { name: 'A lamp' } }),
  ];
  for (const { status, body } of foreign) expect([status, body['reason']]).toEqual([401, 'key_invalid']);

  const leaking = [
    await market.ask('POST', '/api/listing', { key: merchant.key, body: { title: resident.key } }),
    await city.ask('POST', '/api/thing', { key: resident.key, body: { name: merchant.key } }),
  ];
  for (const { status, body } of leaking) expect([status, body['reason']]).toEqual([400, 'secret_in_payload']);
});

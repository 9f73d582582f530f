import { expect, test } from 'vitest';
import { buyerBefore } from '../../../test/support/intent-answers.ts';
import { createCityClient } from '../city-client.ts';
import { buyThing } from './buy-thing.ts';

test.each([
  ['goods', {}, 'Buy it with buy.'],
  ['a thing of another city', { city_url: 'https://other.example' }, 'Use a client of the listing’s city'],
  ['a thing without a number', { city_url: 'https://city.example', world_asset_id: null }, 'Don’t pay this market'],
])('%s: nothing is opened, and the next step is one that helps', async (_, fields, nextStep) => {
  const thing = { delivery_kind: 'city_ownership', artifact_commitment: null, world_asset_id: 9, ...fields };
  const { base, wallet, asked } = await buyerBefore({ listing: 'city_url' in fields ? thing : {} });
  const city = createCityClient({ baseUrl: 'https://city.example', key: 'k' });
  const options = { market: base.client, city, wallet, listingId: 7, cityHandle: 'ada', maxPriceUsdc: 2.5 };
  await expect(buyThing(options)).rejects.toMatchObject({
    ...{ name: 'TermsRefused', why: 'unreadable_terms', nextStep: expect.stringContaining(nextStep) },
  });
  expect([asked('/api/world'), wallet.signed, wallet.sent]).toEqual([[], [], []]);
});

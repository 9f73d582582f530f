import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { STALE_AFTER_MS } from '../../../src/market/world/sync/listed-offer.ts';
import { must, testSites } from '../../world/thing-stage.ts';
import { auditMarket } from './audit-market.ts';

const sites = testSites();

it('things of a city that are for sale, sold, canceled, withdrawn, removed or gone from their city are no faults', async () => {
  const { market, city, keeper } = sites;
  const [seller, buyer] = [await sites.person('seller'), await sites.person('buyer')];
  const [live, sold, canceled] = [await sites.thing(seller), await sites.thing(seller), await sites.thing(seller)];
  const [withdrawn, removed, stale] = [await sites.thing(seller), await sites.thing(seller), await sites.thing(seller)];

  const held = await sites.hold(buyer, sold);
  const txHash = await sites.pay(buyer, held);
  await sites.finalize();
  expect((await sites.claim(buyer, sold, held, txHash)).status).toBe(200);
  expect((await sites.sync(sold)).body['status']).toBe('completed');

  const { key } = seller.resident;
  await must(city.ask('POST', `/api/world/offer/${canceled.offerId}/cancel`, { key, body: {} }), 200);
  expect((await sites.sync(canceled)).body['status']).toBe('canceled');

  const own = { key: seller.merchant.key, body: {} };
  await must(market.ask('POST', `/api/listing/${withdrawn.listingId}/withdraw`, own), 200);
  const removal = { listing_id: removed.listingId, reason_code: 'policy', reason: 'Not here' };
  await must(market.ask('POST', '/api/mod/remove', { key: keeper.key, body: removal }), 200);

  sites.toCity.twist(({ path, status, json }) => {
    if (path !== `/api/world/offer/${stale.offerId}`) return null;
    const body = json as { offer: object };
    return { status, json: { ...body, offer: { ...body.offer, price_usdc: 3 } } };
  });
  expect((await sites.sync(stale)).status).toBe(503);
  await market.db.database.run(
    sql`update world_listings set differs_since = differs_since - make_interval(secs => ${STALE_AFTER_MS / 1_000})
      where listing_id = ${stale.listingId}`,
  );
  expect((await sites.sync(stale)).body['status']).toBe('stale');
  await market.running.eventsSettled();

  const { faults, listings, promises, sales } = await auditMarket({ marketUrl: market.url, rpcUrl: market.chain.url });
  // These fees were inserted into the books directly, so no transfer paid them.
  expect(faults.filter((fault) => !/^fee \d+ names 0x/.test(fault))).toEqual([]);
  expect(faults).toHaveLength(6);
  expect({ listings, sales, promises }).toMatchObject({
    listings: 3,
    sales: { told: 1, proven: 1, free: 0 },
    promises: { listings: 6, price_only: 0, since: 1 },
  });
  expect(live.listingId).toBeGreaterThan(0);
});

import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import type { CrashPoint } from '../../src/market/context.ts';
import { claim, type DirectWorld, payDirectly, statusBy } from '../support/direct.ts';
import { type MarketProcess, type ProcessWorld, startProcessWorld } from '../support/market-process.ts';
import { type Answer, type Member, paidUnits } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { GAS_WEI, PRICE } from '../support/trade.ts';

const { sellerOne } = WORLD_ACCOUNTS;
let world: ProcessWorld;
let seller: Member;
let buyer: Member;

beforeAll(async () => {
  world = await startProcessWorld();
  await world.join('the-keeper');
  seller = await world.join('seller-one');
  buyer = await world.join('buyer-one');
});
afterAll(() => world?.stop());

const POINTS: readonly { point: CrashPoint; finalFirst: boolean }[] = [
  { point: 'after_claim_committed', finalFirst: false },
  { point: 'after_final_before_delivery', finalFirst: true },
];

const at = (market: MarketProcess): DirectWorld => ({ chain: world.chain, ask: market.ask });

describe('kill -9 of the market during a claim', () => {
  it.each(POINTS)(
    '$point: what was acknowledged is finished by the next process, unasked, once',
    async ({ point, finalFirst }) => {
      const payer = testAccount(`direct crash payer ${point}`);
      await fund(world.chain, [{ address: payer.address, usdcUnits: 3n * PRICE, wei: GAS_WEI }]);
      const artifact = `direct crash goods ${point}`;
      const given = { wallet: sellerOne.address, priceUnits: PRICE, artifact };
      const { id } = await seedListing(world.db.database, seller.id, given);
      const doomed = await world.startMarket(point);
      const paid = await payDirectly(at(doomed), { buyer, listingId: id, payer, units: PRICE });
      if (finalFirst) await world.finalize();
      const answer: Answer | null = await claim(at(doomed), buyer, id, paid).catch(() => null);
      expect(answer).toBeNull();
      expect(await doomed.ended).toBe('SIGKILL');
      if (!finalFirst) await world.finalize();
      const next = await world.startMarket();
      try {
        // Without another claim: the background pass alone.
        await expect
          .poll(() => statusBy(at(next), { intent_id: paid.intent.id }), { timeout: 20_000, interval: 100 })
          .toMatchObject({ payment_status: 'completed', tx_hash: paid.txHash });
        expect(await claim(at(next), buyer, id, paid)).toMatchObject({ status: 200, body: { artifact } });
        expect(await next.ask('POST', `/api/buy/${id}`, { key: buyer.key })).toMatchObject({ status: 200 });
      } finally {
        await next.stop();
      }
      expect(await paidUnits(world.chain, payer.address, sellerOne.address)).toEqual([PRICE]);
      expect(await world.db.database.rows(sql`select from purchases where listing_id = ${id}`)).toHaveLength(1);
      const sales = await world.db.database.rows(
        sql`select from events where kind = 'sale' and convert_from(canonical, 'utf8') like ${`%"listing_id":${id},%`}`,
      );
      expect(sales).toHaveLength(1);
    },
    180_000,
  );
});

import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect } from 'vitest';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { audit } from '../audit/audit.ts';
import { BASE_URL } from '../support/market-world.ts';
import { type Goods, PRICE, type ScriptedTrade, scriptedTrade } from '../support/trade.ts';
import { booksOf, type NewVersion, payFor, seedVersion } from './version-stage.ts';

const NEWER_PRICE = 2n * PRICE;
export const NEWER_GOODS = 'secret goods of the newer version';

export interface VersionTrade extends ScriptedTrade {
  /** Made now, for earlier buyers too, at twice the price, unless told otherwise. */
  version(supersedes: bigint, given?: Partial<NewVersion>): Promise<Goods>;
  /** The wallet of one who has bought those goods for good. */
  bought(listing: Goods, key?: string): Promise<TestAccount>;
  /** At a time that is later than that of any block so far. */
  remove(id: bigint): Promise<void>;
  /** Nothing is stored by it, and the facilitator does not hear of it. */
  withoutTrace<T>(act: () => Promise<T>): Promise<T>;
}

/** A world in which versions are made and bought. In the end its books are held against the chain. */
export async function versionTrade(): Promise<VersionTrade> {
  const trade = await scriptedTrade();
  const { facilitator, world, wallet } = trade;
  beforeAll(() => trade.forward());
  afterAll(async () => {
    await world.running.payments.reconcileOnce();
    const { faults } = await audit({ databaseUrl: world.db.url, rpcUrl: world.chain.url, token: USDC_ADDRESS });
    // The listings were put on the shelf past the market, without a fee.
    const seeded = /^(a listing without a fee|no event tells of this: maintainer_seed)/;
    expect(faults.filter((fault) => !seeded.test(fault))).toEqual([]);
  });
  return {
    ...trade,
    version: async (supersedes, given = {}) => {
      const artifact = given.artifact ?? NEWER_GOODS;
      const units = given.priceUnits ?? NEWER_PRICE;
      const createdAt = new Date(systemClock.now());
      const made = { supersedes, artifact, priceUnits: units, createdAt, ...given };
      const id = await seedVersion(world.db.database, made);
      await world.running.eventsSettled();
      const terms = {
        payTo: WORLD_ACCOUNTS.sellerOne.address,
        units,
        resource: `${BASE_URL}/api/buy/${id}`,
        get now() {
          return systemClock.now();
        },
      };
      return { id, artifact, terms };
    },
    bought: async (listing, key) => {
      const payer = await wallet();
      const { answer } = await payFor(world, listing, { payer, ...(key === undefined ? {} : { key }) });
      expect(answer.status).toBe(202);
      await world.finalize();
      await world.running.payments.reconcileOnce();
      return payer;
    },
    remove: async (id) => {
      await world.db.database.run(sql`
        update listings set state = 'removed', removed_at = now() + interval '1 hour', removed_reason = 'not allowed',
          removed_reason_code = 'policy' where id = ${id}`);
    },
    withoutTrace: async (act) => {
      const { verify, settle } = facilitator.calls;
      const before = await booksOf(world.db.database);
      const answer = await act();
      expect(await booksOf(world.db.database)).toEqual(before);
      expect(facilitator.calls).toEqual({ verify, settle });
      return answer;
    },
  };
}

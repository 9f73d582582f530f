import sql from 'sql-template-tag';
import { afterAll, beforeAll } from 'vitest';
import type { OfferOut } from '../../src/contract/world-records.ts';
import type { TestAccount } from '../../src/local/chain/accounts.ts';
import { createWorldSyncJob } from '../../src/market/world/sync/world-sync-job.ts';
import { readBlock, readReceipt } from '../../src/platform/chain/reads.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { transfer } from '../support/direct.ts';
import type { Answer, Member, World } from '../support/market-world.ts';
import { type PairTrade, tradeOnPair } from '../support/rpc-pair.ts';
import { claimedFields, offerRecord, type ScriptedCity, startScriptedCity } from '../support/scripted-city.ts';
import { GAS_WEI } from '../support/trade.ts';
import { type SeededWorldListing, type SeedWorldListing, seedWorldListing } from '../support/world-listing.ts';

/** A transfer to the seller of a thing. */
export interface ThingPaid {
  wallet: Hex;
  txHash: Hex;
  /** Unix time of the transfer's block. */
  second: number;
}

export interface ThingTrade extends Omit<PairTrade, 'pay'> {
  city: ScriptedCity;
  /** Lists a thing and makes the scripted city show its offer. */
  thing(given?: SeedWorldListing): Promise<SeededWorldListing>;
  show(thing: SeededWorldListing, changes?: Partial<OfferOut>): void;
  checkout(thing: SeededWorldListing, merchant?: Member): Promise<number>;
  pay(thing: SeededWorldListing, given?: { units?: bigint; payer?: TestAccount }): Promise<ThingPaid>;
  /** Makes the city show the offer as claimed, with a reservation that began ten seconds before the block. */
  claim(thing: SeededWorldListing, paid: ThingPaid, checkoutId: number, changes?: Partial<OfferOut>): void;
  /** Checks out, transfers, and makes the city show the offer as claimed. Nothing is final yet. */
  bought(thing: SeededWorldListing, given?: { units?: bigint }): Promise<ThingPaid & { checkoutId: number }>;
  sync(thing: { id: bigint }, member?: Member): Promise<Answer>;
  /** Runs the background job once. */
  worldPass(): Promise<void>;
  rowOf(thing: { id: bigint }): Promise<ThingRow>;
  checkoutState(id: number): Promise<unknown>;
}

export interface ThingRow {
  state: string;
  phase: string;
  review_reason: string | null;
  differs_since: Date | null;
  looked_at: Date;
  withdrawn_at: Date | null;
  removed_at: Date | null;
  sales: bigint;
  proofs: bigint;
}

/** City handle of the trade's buyer. */
export const BUYING_RESIDENT = 'bob';

/** Starts a market with two providers on a real chain, and a scripted city. */
export async function thingTrade(): Promise<ThingTrade> {
  const city = await startScriptedCity();
  afterAll(() => city.close());
  const pair = await tradeOnPair({ cityUrl: city.url });
  const { world, seller, buyer } = pair;
  beforeAll(async () => {
    await world.ask('POST', '/api/city-link', { key: buyer.key, body: { city_handle: BUYING_RESIDENT } });
    city.showResident(BUYING_RESIDENT, buyer.handle);
  });

  const show: ThingTrade['show'] = (thing, changes = {}) => {
    const marketOrigin = world.running.market.config.baseUrl;
    city.showOffer(offerRecord(city, thing, { marketOrigin, changes }));
  };

  const checkout: ThingTrade['checkout'] = async (thing, merchant = buyer) => {
    const body = { city_handle: BUYING_RESIDENT };
    const answer = await world.ask('POST', `/api/world/checkout/${thing.id}`, { key: merchant.key, body });
    const opened = answer.body['checkout'] as { id: number } | undefined;
    if (opened === undefined) throw new Error(`no checkout: ${JSON.stringify(answer.body)}`);
    return opened.id;
  };

  const pay: ThingTrade['pay'] = async (thing, { units = thing.priceUnits, payer } = {}) => {
    const account = payer ?? (await pair.wallet(units, GAS_WEI));
    const txHash = await transfer(world, account, thing.wallet, units);
    return { wallet: account.address, txHash, second: await secondOf(world, txHash) };
  };

  const claim: ThingTrade['claim'] = (thing, paid, checkoutId, changes = {}) => {
    const by = { buyer: BUYING_RESIDENT, marketBuyer: buyer.handle, checkoutId, claimedAtMs: pair.clock.now() };
    const { wallet, txHash, second } = paid;
    const fields = claimedFields({ ...by, wallet, txHash, reservedAt: second - 10 });
    show(thing, { ...fields, ...changes });
  };

  return {
    ...pair,
    city,
    thing: async (given = {}) => {
      const made = await seedWorldListing(world.db.database, seller.id, { origin: city.url, ...given });
      show(made);
      return made;
    },
    show,
    checkout,
    pay,
    claim,
    bought: async (thing, given) => {
      const checkoutId = await checkout(thing);
      const paid = await pay(thing, given);
      claim(thing, paid, checkoutId);
      return { ...paid, checkoutId };
    },
    sync: (thing, member = buyer) => world.ask('POST', `/api/world/sync/${thing.id}`, { key: member.key, body: {} }),
    worldPass: () => createWorldSyncJob(world.running.market, world.running.payments, 60_000).syncOnce(),
    rowOf: ({ id }) => readRow(world, id),
    checkoutState: async (id) => {
      const { body } = await world.ask('GET', `/api/world/checkout/${id}`);
      return (body['checkout'] as { state: string }).state;
    },
  };
}

async function secondOf({ chain: { rpc } }: World, txHash: Hex): Promise<number> {
  const receipt = await readReceipt(rpc, txHash);
  const block = receipt && (await readBlock(rpc, receipt.blockNumber));
  return Number(block?.timestamp ?? 0n);
}

function readRow({ db }: World, id: bigint): Promise<ThingRow> {
  return db.database.one<ThingRow>(sql`
    select l.state, w.phase, w.review_reason, w.differs_since, w.looked_at, l.withdrawn_at, l.removed_at,
      (select count(*) from purchases p where p.listing_id = l.id) as sales,
      (select count(*) from payment_proofs p where p.world_listing_id = l.id) as proofs
    from listings l join world_listings w on w.listing_id = l.id where l.id = ${id}`);
}

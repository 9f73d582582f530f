import { afterAll, beforeAll } from 'vitest';
import type { City, Resident } from '../../src/city/context.ts';
import { getOffer, reconcileOffer } from '../../src/city/create-city.ts';
import { cancelOffer } from '../../src/city/offers/advance-offer.ts';
import { claimOffer } from '../../src/city/offers/claim-offer.ts';
import { openOffer } from '../../src/city/offers/open-offer.ts';
import { reserveOffer } from '../../src/city/offers/reserve-offer.ts';
import { checksummed } from '../../src/contract/chain-values.ts';
import { type CityEndpoints, type CityLimits, cityEndpoints } from '../../src/contract/city.ts';
import type { ResultOf } from '../../src/contract/endpoint.ts';
import { usdcOfUnits } from '../../src/contract/money.ts';
import type { CheckoutOut, DraftOut, OfferOut, OfferPhase } from '../../src/contract/world-records.ts';
import { type TestAccount, testAccount } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { createProviderHealth, createProviders } from '../../src/platform/chain/providers.ts';
import { readBlock } from '../../src/platform/chain/reads.ts';
import { isoTime } from '../../src/platform/clock.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { startTestChain, usdcAdmin } from '../support/chain.ts';
import { askCity, cityConfig, cityContext, seedResident, seedThing } from '../support/city-context.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type SettableClock, settableClock } from '../support/market-context.ts';
import { type LogLine, recordingLog } from '../support/recording-log.ts';
import { type Reply, startScriptedMarket } from '../support/scripted-market.ts';

export const PRICE = 2_500_000n;

/** A person with a wallet and an account on both sites. */
export interface Person extends Resident {
  merchant: string;
  wallet: TestAccount;
}

export interface OpenedOffer {
  id: bigint;
  thingId: bigint;
  draftId: bigint;
  listingId: number;
  seller: Person;
}

export type ReservationOut = ResultOf<CityEndpoints['reserveOffer']>['body']['reservation'];
export type ClaimAnswer = ResultOf<CityEndpoints['claimOffer']>;

/** A city on a chain whose time stands still until moved, with a scripted market. */
export interface CitySale {
  city: City;
  chain: LocalChain;
  db: TestDatabase;
  clock: SettableClock;
  logLines: LogLine[];
  /** Sets the scripted market's answer for exactly this path. */
  show(path: string, reply: Reply): void;
  /** Returns the time of the latest block as Unix time in seconds. */
  time(): Promise<number>;
  /** Mines a block at that time and sets the city's clock to it. */
  mineAt(second: number): Promise<void>;
  /** Makes everything mined so far final, which takes a few seconds of chain time. */
  finalize(): Promise<void>;
  person(): Promise<Person>;
  draft(seller: Person, thingId: bigint, changes?: Partial<DraftOut>): bigint;
  offer(): Promise<OpenedOffer>;
  checkout(offer: OpenedOffer, buyer: Person, changes?: Partial<CheckoutOut>): number;
  reserve(offer: OpenedOffer, buyer: Person, asked?: { checkout?: number; wallet?: Hex }): Promise<ReservationOut>;
  /** Transfers USDC in a block at `second`, or in the next block if omitted. */
  pay(given: { from: TestAccount; to: Hex; units?: bigint; second?: number }): Promise<Hex>;
  claim(offer: OpenedOffer, by: Person, txHash: Hex, challenge: string, signer?: TestAccount): Promise<ClaimAnswer>;
  claimWith(offer: OpenedOffer, by: Person, txHash: Hex, signature: Hex): Promise<ClaimAnswer>;
  reconcile(offer: OpenedOffer, by: Person): Promise<OfferOut>;
  cancel(offer: OpenedOffer, by: Person): Promise<OfferOut>;
  read(offer: OpenedOffer): Promise<OfferOut>;
  phase(offer: OpenedOffer): Promise<OfferPhase>;
}

export interface SaleOptions {
  finalityBlocks?: number;
  limits?: Partial<CityLimits>;
  /** Replaces the chain's own RPC URL. */
  rpcUrls?: (chain: LocalChain) => [string, ...string[]];
}

/** Creates one sale shared by all tests of a file. */
export function citySale(options: SaleOptions = {}): CitySale {
  let made: Awaited<ReturnType<typeof startSale>> | null = null;
  beforeAll(async () => {
    made = await startSale(options);
  });
  afterAll(async () => {
    await made?.stop();
  });
  return new Proxy({} as CitySale, {
    get: (_, name) => {
      if (made === null) throw new Error('the sale exists only while tests run');
      return made.sale[name as keyof CitySale];
    },
  });
}

async function startSale(options: SaleOptions): Promise<{ sale: CitySale; stop(): Promise<void> }> {
  const chain = await startTestChain({ finalityBlocks: options.finalityBlocks ?? 0 });
  await chain.rpc.call('anvil_setBlockTimestampInterval', [1]);
  await chain.mine(options.finalityBlocks ?? 0);
  const db = await createTestDatabase({ site: 'city' });
  const shown = new Map<string, Reply>();
  const absent: Reply = { status: 404, body: { reason: 'not_found' } };
  const market = await startScriptedMarket(({ path }) => shown.get(path) ?? absent);
  const clock = settableClock(0);
  const rpcUrls = options.rpcUrls?.(chain) ?? [chain.url];
  const providers = createProviders(rpcUrls, clock);
  const { log, lines } = recordingLog();
  const city = cityContext({
    database: db.database,
    clock,
    changes: {
      config: cityConfig({
        marketUrl: market.baseUrl,
        rpcUrls,
        finalityMinAgeSeconds: 0,
        limits: options.limits ?? {},
      }),
      providers,
      providerHealth: createProviderHealth(providers, clock),
      log,
    },
  });
  const time = async (): Promise<number> => Number((await readBlock(chain.rpc, 'latest'))?.timestamp);
  clock.set((await time()) * 1_000);
  const parts = { city, chain, db, clock, logLines: lines, time, show: shown.set.bind(shown) };
  return {
    sale: { ...parts, ...chainMoves(parts, options.finalityBlocks ?? 0), ...offerMakers(parts), ...cityActs(city) },
    stop: async () => {
      await chain.kill();
      await market[Symbol.asyncDispose]();
      await db.drop();
    },
  };
}

type Parts = Pick<CitySale, 'city' | 'chain' | 'db' | 'clock' | 'time'> & { show(path: string, reply: Reply): unknown };

function chainMoves({ chain, clock, time }: Parts, finalityBlocks: number) {
  const follow = async (): Promise<void> => clock.set((await time()) * 1_000);
  return {
    mineAt: async (second: number): Promise<void> => {
      await chain.rpc.call('evm_setNextBlockTimestamp', [second]);
      await chain.mine();
      await follow();
    },
    finalize: async (): Promise<void> => {
      await chain.mine(finalityBlocks);
      await follow();
    },
    pay: async (given: { from: TestAccount; to: Hex; units?: bigint; second?: number }): Promise<Hex> => {
      if (given.second !== undefined) await chain.rpc.call('evm_setNextBlockTimestamp', [given.second]);
      const { transactionHash } = await usdcAdmin(chain).transfer(given.from, given.to, given.units ?? PRICE);
      await follow();
      return transactionHash;
    },
  };
}

let people = 0;
let lastId = 0;

function marketRecords({ clock, show }: Pick<Parts, 'clock' | 'show'>) {
  const draft = (seller: Person, thingId: bigint, changes: Partial<DraftOut> = {}): bigint => {
    lastId += 1;
    const record: DraftOut = {
      id: lastId,
      seller: seller.merchant,
      title: 'A lamp',
      description: 'It shines.',
      preview: '',
      price_usdc: usdcOfUnits(PRICE),
      seller_wallet: checksummed(seller.wallet.address),
      tags: [],
      keywords: [],
      thing_id: Number(thingId),
      state: 'pending',
      listing_id: null,
      created_at: isoTime(clock.now()),
      expires_at: isoTime(clock.now() + 3_600_000),
      ...changes,
    };
    show(`/api/world/draft/${record.id}`, { status: 200, body: { draft: record } });
    return BigInt(record.id);
  };
  const checkout = (offer: OpenedOffer, buyer: Person, changes: Partial<CheckoutOut> = {}): number => {
    lastId += 1;
    const record: CheckoutOut = {
      id: lastId,
      listing_id: offer.listingId,
      market_buyer: buyer.merchant,
      city_handle: buyer.handle,
      city_offer_id: Number(offer.id),
      state: 'open',
      created_at: isoTime(clock.now()),
      expires_at: isoTime(clock.now() + 600_000),
      ...changes,
    };
    show(`/api/world/checkout/${record.id}`, { status: 200, body: { checkout: record } });
    return record.id;
  };
  return { draft, checkout };
}

function offerMakers({ city, chain, db, clock, show }: Parts) {
  const showMerchant = (person: Person): unknown =>
    show(`/api/store/${person.merchant}?limit=1`, {
      status: 200,
      body: { merchant: { handle: person.merchant, city_handle: person.handle }, listings: [] },
    });
  const person = async (): Promise<Person> => {
    people += 1;
    const nth = people;
    const wallet = testAccount(`city person ${nth}`);
    await fund(chain, [{ address: wallet.address, usdcUnits: 100_000_000n, wei: 10n ** 20n }]);
    clock.set(Number((await readBlock(chain.rpc, 'latest'))?.timestamp) * 1_000);
    const merchant = `merchant-${nth}`;
    const resident = await seedResident(db.database, { handle: `resident-${nth}`, marketHandle: merchant });
    const made = { ...resident, merchant, wallet };
    showMerchant(made);
    return made;
  };
  const { draft, checkout } = marketRecords({ clock, show });
  const offer = async (): Promise<OpenedOffer> => {
    const seller = await person();
    const thingId = await seedThing(db.database, seller.id);
    const draftId = draft(seller, thingId);
    const body = { market_draft_id: Number(draftId), thing_id: Number(thingId) };
    const answer = await askOpen(city, seller, body);
    lastId += 1;
    return { id: BigInt(answer.offer.id), thingId, draftId, listingId: lastId, seller };
  };
  const reserve: CitySale['reserve'] = async (of, buyer, asked = {}) => {
    const body = {
      market_checkout_id: asked.checkout ?? checkout(of, buyer),
      payer_wallet: asked.wallet ?? buyer.wallet.address,
    };
    const { reserveOffer: endpoint } = cityEndpoints;
    return (await askCity(city, endpoint, reserveOffer, { params: { id: of.id.toString() }, caller: buyer, body })).body
      .reservation;
  };
  return { person, draft, checkout, offer, reserve };
}

async function askOpen(city: City, caller: Person, body: { market_draft_id: number; thing_id: number }) {
  return (await askCity(city, cityEndpoints.openOffer, openOffer, { body, caller })).body;
}

function cityActs(city: City) {
  const claimWith: CitySale['claimWith'] = (offer, by, txHash, signature) =>
    askCity(city, cityEndpoints.claimOffer, claimOffer, {
      params: { id: offer.id.toString() },
      caller: by,
      body: { tx_hash: txHash, payer_signature: signature },
    });
  const read = async ({ id }: OpenedOffer): Promise<OfferOut> =>
    (await askCity(city, cityEndpoints.getOffer, getOffer, { params: { id: id.toString() } })).body.offer;
  return {
    claimWith,
    claim: async (offer: OpenedOffer, by: Person, txHash: Hex, challenge: string, signer = by.wallet) =>
      claimWith(offer, by, txHash, await signer.signer.signMessage({ message: challenge })),
    reconcile: async ({ id }: OpenedOffer, by: Person): Promise<OfferOut> =>
      (await askCity(city, cityEndpoints.reconcileOffer, reconcileOffer, { params: { id: id.toString() }, caller: by }))
        .body.offer,
    cancel: async ({ id }: OpenedOffer, by: Person): Promise<OfferOut> =>
      (await askCity(city, cityEndpoints.cancelOffer, cancelOffer, { params: { id: id.toString() }, caller: by })).body
        .offer,
    read,
    phase: async (offer: OpenedOffer): Promise<OfferPhase> => (await read(offer)).phase,
  };
}

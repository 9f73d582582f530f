import { afterAll, beforeAll } from 'vitest';
import type { CityLimits } from '../../src/contract/city.ts';
import { type TestAccount, testAccount } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { usdcAdmin } from '../support/chain.ts';
import { createWorldTime, latestSecond, nextBlockAt, transferData, type WorldTime } from '../support/direct.ts';
import { freePort } from '../support/free-port.ts';
import { type Answer, type Member, startWorld, type World, type WorldOptions } from '../support/market-world.ts';
import { seedFee } from '../support/seed.ts';
import { type SiteProxy, startSiteProxy } from '../support/site-proxy.ts';
import { type CityOptions, type CityWorld, type Inhabitant, startCity } from './city-world.ts';

export const PRICE_USDC = 4;
export const PRICE = 4_000_000n;
const GAS_WEI = 10n ** 18n;

/** One person who is both merchant and resident; each site knows only its own key. */
export interface Person {
  merchant: Member;
  resident: Inhabitant;
  wallet: TestAccount;
}

export interface Thing {
  seller: Person;
  thingId: number;
  draftId: number;
  offerId: number;
  listingId: number;
}

export interface Reservation {
  id: number;
  checkoutId: number;
  challenge: string;
  reserved_at: string;
  reserved_until: string;
  seller_wallet: string;
}

/** Both sites on one chain, each with its own database and keys, connected through proxies that can lie. */
export interface Sites {
  market: World;
  city: CityWorld;
  toCity: SiteProxy;
  toMarket: SiteProxy;
  time: WorldTime;
  /** The maintainer, who may remove listings. */
  keeper: Member;
  person(name: string): Promise<Person>;
  /** Creates a thing of the seller and lists it on the market for PRICE. */
  thing(seller: Person): Promise<Thing>;
  checkout(buyer: Person, thing: Thing): Promise<Answer>;
  reserve(buyer: Person, thing: Thing, checkoutId: number): Promise<Answer>;
  /** Checks out and reserves. Both must succeed. */
  hold(buyer: Person, thing: Thing): Promise<Reservation>;
  /** Transfers from the buyer's wallet in the block of that second, or at once if omitted. */
  pay(buyer: Person, reservation: Pick<Reservation, 'seller_wallet'>, units?: bigint, second?: number): Promise<Hex>;
  claim(buyer: Person, thing: Thing, reservation: Pick<Reservation, 'challenge'>, txHash: Hex): Promise<Answer>;
  sync(thing: Thing): Promise<Answer>;
  offer(thing: Thing): Promise<Record<string, unknown>>;
  owner(thing: Thing): Promise<string>;
  listing(thing: Thing): Promise<Record<string, unknown>>;
  finalize(): Promise<void>;
  restartCity(): Promise<void>;
  stop(): Promise<void>;
}

let made = 0;

export interface SitesOptions {
  /** Replaces the default clock, which moves on its own. */
  time?: WorldTime;
  cityLimits?: Partial<CityLimits>;
  /** Uses the test's own database and log copy. */
  market?: Pick<WorldOptions, 'db' | 'logCopy' | 'worldEveryMs'>;
  city?: Pick<CityOptions, 'databaseUrl' | 'logCopy' | 'sweepEveryMs'>;
}

export async function startSites(options: SitesOptions = {}): Promise<Sites> {
  const { time = createWorldTime(), cityLimits = {} } = options;
  const marketPort = await freePort();
  const [toMarket, toCity] = [
    await startSiteProxy(() => `http://127.0.0.1:${marketPort}`),
    await startSiteProxy(() => city.url),
  ];
  const market = await startWorld({
    ...{ cityUrl: toCity.url, port: marketPort, baseUrl: toMarket.url, clock: time.clock },
    limits: { registration_per_ip_hour: 1_000 },
    ...options.market,
  });
  const open = async (databaseUrl?: string): Promise<CityWorld> =>
    await startCity({
      ...{ chain: market.chain, marketUrl: toMarket.url, baseUrl: toCity.url, clock: time.clock, limits: cityLimits },
      ...options.city,
      ...(databaseUrl === undefined ? {} : { databaseUrl }),
    });
  let city = await open();
  const first = city;
  // Merchant 1 is the maintainer, who lists for free, so no trader may be merchant 1.
  const keeper = await market.join('the-keeper');

  const ground: Ground = { market, time, city: () => city };
  const sites: Sites = {
    ...{ market, toCity, toMarket, time, keeper },
    get city() {
      return city;
    },
    person: (name) => makePerson(ground, name),
    thing: (seller) => listThing(sites, seller),
    ...actsOn(ground),
    hold: (buyer, thing) => holdThing(sites, buyer, thing),
    ...viewsOf(ground),
    // Move chain and clocks one second per block, because the sites distrust blocks newer than their clocks.
    finalize: async () => {
      for (let blocks = 0; blocks < 10; blocks += 1) await time.moveOn(market, 1);
    },
    restartCity: async () => {
      const { url } = city.db;
      if (city === first) await city.running.stop({ drainMs: 0 });
      else await city.stop();
      city = await open(url);
    },
    stop: async () => {
      if (city !== first) await city.stop();
      await first.stop();
      await market.stop();
      await toCity.close();
      await toMarket.close();
    },
  };
  return sites;
}

interface Ground {
  market: World;
  time: WorldTime;
  city(): CityWorld;
}

async function makePerson({ market, city }: Ground, name: string): Promise<Person> {
  made += 1;
  const handle = `${name}-${made}`;
  const merchant = await market.join(`m-${handle}`);
  const resident = await city().join(`r-${handle}`);
  const wallet = testAccount(`wallet of ${handle}`);
  await fund(market.chain, [{ address: wallet.address, usdcUnits: 10n * PRICE, wei: GAS_WEI }]);
  const named = { city_handle: resident.handle };
  await must(market.ask('POST', '/api/city-link', { key: merchant.key, body: named }), 200);
  const back = { market_handle: merchant.handle };
  await must(city().ask('POST', '/api/market-link', { key: resident.key, body: back }), 200);
  await market.running.eventsSettled();
  return { merchant, resident, wallet };
}

async function holdThing(sites: Sites, buyer: Person, thing: Thing): Promise<Reservation> {
  // The city takes the time from the chain, so mine a current block first.
  await sites.time.moveOn(sites.market, 1);
  const opened = await sites.checkout(buyer, thing);
  if (opened.status > 201) throw new Error(`no checkout: ${JSON.stringify(opened.body)}`);
  const { id } = opened.body['checkout'] as { id: number };
  const body = await must(sites.reserve(buyer, thing, id), 201);
  return { ...(body['reservation'] as Reservation), checkoutId: id };
}

function actsOn({ market, time, city }: Ground): Pick<Sites, 'checkout' | 'reserve' | 'pay' | 'claim' | 'sync'> {
  return {
    checkout: ({ merchant, resident }, { listingId }) =>
      market.ask('POST', `/api/world/checkout/${listingId}`, {
        key: merchant.key,
        body: { city_handle: resident.handle },
      }),
    reserve: ({ resident, wallet }, { offerId }, checkoutId) =>
      city().ask('POST', `/api/world/offer/${offerId}/reserve`, {
        key: resident.key,
        body: { market_checkout_id: checkoutId, payer_wallet: wallet.address },
      }),
    pay: async (buyer, { seller_wallet: to }, units = PRICE, second) => {
      if (second !== undefined) await nextBlockAt(market, second);
      const { transactionHash } = await usdcAdmin(market.chain).transfer(buyer.wallet, to.toLowerCase() as Hex, units);
      if (second !== undefined) await time.moveTo(market, second + 1);
      return transactionHash;
    },
    claim: async ({ resident, wallet }, { offerId }, { challenge }, txHash) =>
      city().ask('POST', `/api/world/offer/${offerId}/claim`, {
        key: resident.key,
        body: { tx_hash: txHash, payer_signature: await wallet.signer.signMessage({ message: challenge }) },
      }),
    sync: ({ listingId, seller }) =>
      market.ask('POST', `/api/world/sync/${listingId}`, { key: seller.merchant.key, body: {} }),
  };
}

function viewsOf({ market, city }: Ground): Pick<Sites, 'offer' | 'owner' | 'listing'> {
  const read = async (asked: Promise<Answer>, name: string): Promise<Record<string, unknown>> =>
    (await must(asked, 200))[name] as Record<string, unknown>;
  return {
    offer: ({ offerId }) => read(city().ask('GET', `/api/world/offer/${offerId}`), 'offer'),
    owner: async ({ thingId }) => String((await read(city().ask('GET', `/api/thing/${thingId}`), 'thing'))['owner']),
    listing: async ({ listingId }) => {
      await market.running.eventsSettled();
      return await read(market.ask('GET', `/api/listing/${listingId}`), 'listing');
    },
  };
}

/** Creates both sites for all tests of a file. Readable only while tests run. */
export function testSites(): Sites {
  let started: Sites | null = null;
  beforeAll(async () => {
    started = await startSites();
  });
  afterAll(() => started?.stop());
  return new Proxy({} as Sites, {
    get: (_, name) => {
      if (started === null) throw new Error('the sites exist only while tests run');
      return started[name as keyof Sites];
    },
  });
}

async function listThing(sites: Sites, seller: Person): Promise<Thing> {
  const { market, city } = sites;
  made += 1;
  const name = `Thing ${made} of a test`;
  const thing = (await must(city.ask('POST', '/api/thing', { key: seller.resident.key, body: { name } }), 201))[
    'thing'
  ] as { id: number };
  const told = { title: name, description: 'What it is', preview: 'A look at it', tags: [], thing_id: thing.id };
  const terms = { price_usdc: PRICE_USDC, seller_wallet: seller.wallet.address };
  const drafted = await must(
    market.ask('POST', '/api/world/draft', { key: seller.merchant.key, body: { ...told, ...terms } }),
    201,
  );
  const draft = drafted['draft'] as { id: number };
  const offered = await must(
    city.ask('POST', '/api/world/offer', {
      key: seller.resident.key,
      body: { market_draft_id: draft.id, thing_id: thing.id },
    }),
    201,
  );
  const offer = offered['offer'] as { id: number };
  // Insert a paid fee. Other tests cover paying it.
  await seedFee(market.db.database, seller.merchant.id);
  const listed = await must(
    market.ask('POST', '/api/world/listing', {
      key: seller.merchant.key,
      body: { draft_id: draft.id, city_offer_id: offer.id },
    }),
    201,
  );
  return {
    ...{ seller, thingId: thing.id, draftId: draft.id, offerId: offer.id },
    listingId: listed['listing_id'] as number,
  };
}

export async function must(asked: Promise<Answer>, status: number): Promise<Record<string, unknown>> {
  const answer = await asked;
  if (answer.status !== status)
    throw new Error(`${status} was expected, not ${answer.status}: ${JSON.stringify(answer.body)}`);
  return answer.body;
}

export { latestSecond, transferData };
export const secondOf = (time: string): number => Date.parse(time) / 1_000;

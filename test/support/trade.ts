import { afterAll, beforeAll } from 'vitest';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import type { Hex } from '../../src/platform/hex.ts';
import {
  BASE_URL,
  type Member,
  type ProofTerms,
  type SignedProof,
  startWorld,
  type World,
  type WorldOptions,
} from './market-world.ts';
import { type ScriptedFacilitator, startScriptedFacilitator } from './scripted-facilitator.ts';
import { seedListing } from './seed.ts';

/** What goods cost where a test names no price. */
export const PRICE = 2_500_000n;

/** For a payer that sends a transaction itself. To buy, a wallet needs none of it. */
export const GAS_WEI = 10n ** 18n;

export interface Goods {
  id: bigint;
  artifact: string;
  /** What a proof for these goods must say; `now` is the time of the market whenever it is read. */
  terms: Required<Pick<ProofTerms, 'payTo' | 'units' | 'resource' | 'now'>>;
}

export interface GoodsOptions {
  payTo?: Hex;
  units?: bigint;
  artifact?: string;
}

export interface Trade {
  world: World;
  seller: Member;
  buyer: Member;
  /** A listing of the seller, unlike every other one. */
  goods(given?: GoodsOptions): Promise<Goods>;
  /** An account of its own, so that what it paid can be counted. */
  wallet(usdcUnits?: bigint, wei?: bigint): Promise<TestAccount>;
  /** What the market tells anybody about the payment of that proof. */
  statusOf(proof: SignedProof): Promise<Record<string, unknown>>;
}

/** One world for all tests of a file, with one who sells and one who buys; readable only while tests run. */
export function testTrade(options: WorldOptions = {}): Trade {
  let running: Pick<Trade, 'world' | 'seller' | 'buyer'> | null = null;
  let made = 0;
  const clock = options.clock ?? systemClock;
  const current = () => {
    if (running === null) throw new Error('the world exists only while tests run');
    return running;
  };
  let started: World | null = null;
  beforeAll(async () => {
    started = await startWorld(options);
    await started.join('the-keeper');
    const seller = await started.join('seller-one');
    running = { world: started, seller, buyer: await started.join('buyer-one') };
  });
  afterAll(() => started?.stop());
  const world = worldBehind(() => current().world);
  const seller = memberBehind(() => current().seller);

  return {
    world,
    seller,
    buyer: memberBehind(() => current().buyer),
    goods: async ({ payTo = WORLD_ACCOUNTS.sellerOne.address, units = PRICE, artifact } = {}) => {
      made += 1;
      const content = artifact ?? `secret goods number ${made}`;
      const listing = { wallet: payTo, priceUnits: units, artifact: content };
      const { id } = await seedListing(world.db.database, seller.id, listing);
      // Put there past the market, which sees it only when it looks.
      await world.running.eventsSettled();
      const resource = `${BASE_URL}/api/buy/${id}`;
      const terms = {
        payTo,
        units,
        resource,
        get now() {
          return clock.now();
        },
      };
      return { id, artifact: content, terms };
    },
    wallet: async (usdcUnits = 10n * PRICE, wei) => {
      made += 1;
      const account = testAccount(`payer ${made}`);
      await fund(world.chain, [{ address: account.address, usdcUnits, ...(wei === undefined ? {} : { wei }) }]);
      return account;
    },
    statusOf: async ({ authorization: { from, nonce } }) => {
      const answer = await world.ask('GET', `/api/payment?payer=${from}&nonce=${nonce}`);
      return answer.body['payment'] as Record<string, unknown>;
    },
  };
}

export interface ScriptedTrade extends Trade {
  facilitator: ScriptedFacilitator;
  /** From here on the facilitator does what ours does. */
  forward(): void;
}

/** The same, with a facilitator as bad as a test needs it. */
export async function scriptedTrade(options: Omit<WorldOptions, 'facilitatorUrl'> = {}): Promise<ScriptedTrade> {
  const facilitator = await startScriptedFacilitator();
  // Before the world registers its end, since what is registered last ends first.
  afterAll(() => facilitator.close());
  const trade = testTrade({ ...options, facilitatorUrl: facilitator.url });
  const forward = () => facilitator.script({ verify: 'forward', settle: 'forward', to: trade.world.facilitator.url });
  return { ...trade, facilitator, forward };
}

function memberBehind(current: () => Member): Member {
  return {
    get id() {
      return current().id;
    },
    get handle() {
      return current().handle;
    },
    get key() {
      return current().key;
    },
  };
}

function worldBehind(current: () => World): World {
  return {
    get chain() {
      return current().chain;
    },
    get facilitator() {
      return current().facilitator;
    },
    get running() {
      return current().running;
    },
    get db() {
      return current().db;
    },
    get url() {
      return current().url;
    },
    get logLines() {
      return current().logLines;
    },
    join: (handle) => current().join(handle),
    ask: (method, path, asked) => current().ask(method, path, asked),
    buy: (listingId, asked) => current().buy(listingId, asked),
    finalize: () => current().finalize(),
    stop: () => current().stop(),
  };
}

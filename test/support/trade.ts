import { afterAll, beforeAll } from 'vitest';
import { collectNonce } from '../../src/contract/collect-text.ts';
import { LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Hex, toHex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { signAuthorization } from './chain.ts';
import {
  type Answer,
  BASE_URL,
  type Member,
  type ProofTerms,
  type SignedProof,
  signProof,
  startWorld,
  type World,
  type WorldOptions,
  wrapProof,
} from './market-world.ts';
import { type ScriptedFacilitator, startScriptedFacilitator } from './scripted-facilitator.ts';
import { seedListing } from './seed.ts';

export const PRICE = 2_500_000n;

/** Gas for a payer that sends its own transactions. Buying by x402 needs none. */
export const GAS_WEI = 10n ** 18n;

export interface Goods {
  id: bigint;
  artifact: string;
  /** Terms of a proof for these goods. `now` returns the market's time. */
  terms: Required<Pick<ProofTerms, 'payTo' | 'units' | 'resource' | 'now'>>;
}

interface GoodsOptions {
  payTo?: Hex;
  units?: bigint;
  artifact?: string;
}

export interface Trade {
  world: World;
  keeper: Member;
  seller: Member;
  buyer: Member;
  /** Creates a listing of the seller that differs from all others. */
  goods(given?: GoodsOptions): Promise<Goods>;
  /** Creates a new account, so that its payments can be counted. */
  wallet(usdcUnits?: bigint, wei?: bigint): Promise<TestAccount>;
  statusOf(proof: SignedProof): Promise<Record<string, unknown>>;
}

/** Creates one world with a seller and a buyer for all tests of a file. Readable only while tests run. */
export function testTrade(options: WorldOptions = {}): Trade {
  let running: Pick<Trade, 'world' | 'keeper' | 'seller' | 'buyer'> | null = null;
  let made = 0;
  const clock = options.clock ?? systemClock;
  const current = () => {
    if (running === null) throw new Error('the world exists only while tests run');
    return running;
  };
  let started: World | null = null;
  beforeAll(async () => {
    started = await startWorld(options);
    const keeper = await started.join('the-keeper');
    const seller = await started.join('seller-one');
    running = { world: started, keeper, seller, buyer: await started.join('buyer-one') };
  });
  afterAll(() => started?.stop());
  const world = worldBehind(() => current().world);
  const seller = memberBehind(() => current().seller);

  return {
    world,
    keeper: memberBehind(() => current().keeper),
    seller,
    buyer: memberBehind(() => current().buyer),
    goods: async ({ payTo = WORLD_ACCOUNTS.sellerOne.address, units = PRICE, artifact } = {}) => {
      made += 1;
      const content = artifact ?? `secret goods number ${made}`;
      const listing = { wallet: payTo, priceUnits: units, artifact: content };
      const { id } = await seedListing(world.db.database, seller.id, listing);
      // The listing was inserted directly, so the market sees it only after its next read.
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
  /** Makes the facilitator behave like our own from now on. */
  forward(): void;
}

/** Like `testTrade`, but with a scripted facilitator. */
export async function scriptedTrade(options: Omit<WorldOptions, 'facilitatorUrl'> = {}): Promise<ScriptedTrade> {
  const facilitator = await startScriptedFacilitator();
  // Registered before the world, because hooks registered last run first.
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

let made = 0;

export type GoodsBody = Record<string, unknown> & { title: string; artifact: string };

/** Builds a valid listing request. Omitted fields get values that differ from all others. */
export function newGoods(changes: Record<string, unknown> = {}): GoodsBody {
  made += 1;
  return {
    title: `Goods ${made}`,
    description: 'What it is',
    preview: 'A look at it',
    artifact: `hidden goods ${made}`,
    price_usdc: 2.5,
    seller_wallet: WORLD_ACCOUNTS.sellerOne.address,
    ...changes,
  };
}

export function listGoods(
  world: World,
  member: Member,
  body: unknown,
  asked: { proof?: SignedProof['v1']; dryRun?: true } = {},
): Promise<Answer> {
  const path = asked.dryRun ? '/api/listing?dry_run=true' : '/api/listing';
  return world.ask('POST', path, { key: member.key, body, ...(asked.proof ? { proof: asked.proof } : {}) });
}

export const FEE_TERMS = {
  payTo: WORLD_ACCOUNTS.treasury.address,
  units: LISTING_FEE_UNITS,
  resource: `${BASE_URL}/api/listing`,
};

export function signFee(world: World, payer: TestAccount): Promise<SignedProof> {
  return signProof(world.chain, payer, FEE_TERMS);
}

/** Creates a new wallet, so that its payments can be counted. */
export async function fundedWallet(world: World, usdcUnits = 100_000_000n): Promise<TestAccount> {
  made += 1;
  const account = testAccount(`wallet ${made} of a test`);
  await fund(world.chain, [{ address: account.address, usdcUnits }]);
  return account;
}

/** Lists and pays the fee, makes the payment final, and repeats the request. Returns the last answer, with the listing. */
export async function listPaid(world: World, member: Member, body: unknown, payer: TestAccount): Promise<Answer> {
  const proof = await signFee(world, payer);
  await listGoods(world, member, body, { proof: proof.v2 });
  await world.finalize();
  return listGoods(world, member, body);
}

export interface CollectChange {
  baseUrl?: string;
  chainId?: bigint;
  listingId?: bigint;
  payer?: string;
  value?: bigint;
  signer?: TestAccount;
}

/** Signs an authorization to collect and returns it with its salt. */
export async function signCollecting(
  chain: LocalChain,
  { id, terms }: { id: bigint; terms: Pick<Goods['terms'], 'payTo' | 'resource'> },
  { payer, signer }: { payer: Hex; signer: TestAccount },
  change: CollectChange = {},
) {
  const salt = toHex(systemRandom.bytes(32));
  const nonce = collectNonce({
    baseUrl: change.baseUrl ?? BASE_URL,
    chainId: change.chainId ?? 8453n,
    listingId: change.listingId ?? id,
    payer: change.payer ?? payer,
    salt,
  });
  const authorization = {
    from: payer,
    to: terms.payTo,
    value: change.value ?? 0n,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(systemClock.now() / 1000) + 120),
    nonce,
  };
  const signature = await signAuthorization(chain, signer, authorization);
  const { v1, v2 } = wrapProof(authorization, signature, { ...terms, units: authorization.value });
  return { v1, v2, salt, authorization, signature, body: { collect: true, collect_salt: salt } };
}

import { afterAll, beforeAll } from 'vitest';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { type Hex, toHex } from '../../src/platform/hex.ts';
import { createWorldTime, transfer, type WorldTime } from '../support/direct.ts';
import {
  type Answer,
  BASE_URL,
  type Member,
  type SignedProof,
  signProof,
  startWorld,
  type World,
} from '../support/market-world.ts';
import { startRpcServer } from '../support/rpc-server.ts';
import { type ScriptedFacilitator, startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { seedListing } from '../support/seed.ts';
import { GAS_WEI, PRICE } from '../support/trade.ts';

/** Large enough that blocks become final only when a test says so. */
export const FINALITY_BLOCKS = 24;

export const statusAndReason = ({ status, body }: Answer): unknown[] => [
  status,
  body['reason'] ?? body['status'] ?? 'ok',
];

export interface Goods {
  id: bigint;
  artifact: string;
}

export interface ReviewStage {
  world: World;
  keeper: Member;
  seller: Member;
  facilitator: ScriptedFacilitator;
  time: WorldTime;
  finalize(): Promise<void>;
  /** While true, the market's chain reports every authorization as unused. */
  denyUses(isOn: boolean): void;
  /** While true, the market cannot read its chain. */
  cutChain(isOn: boolean): void;
  person(): Promise<Member>;
  goods(): Promise<Goods>;
  wallet(usdcUnits?: bigint): Promise<TestAccount>;
  sign(payer: TestAccount, goods: Goods): Promise<SignedProof>;
  decide(by: Member, id: number, body: object): Promise<Answer>;
  reviewsOf(member: Member): Promise<Record<string, unknown>[]>;
  newestEvents(count: number): Promise<Record<string, unknown>[]>;
  payBack(to: TestAccount, units: bigint): Promise<Hex>;
  remove(goods: Goods): Promise<void>;
  /** Buys by x402, from the first request to the delivery. */
  buyAnew(goods: Goods, buyer: Member): Promise<Answer>;
}

interface Started {
  world: World;
  keeper: Member;
  seller: Member;
}

/** Creates one world for all tests of a file about reviews. Its clock moves with the chain's. */
export async function reviewStage(): Promise<ReviewStage> {
  const time = createWorldTime();
  const facilitator = await startScriptedFacilitator();
  const rpc = await deniableRpc();
  afterAll(async () => {
    await facilitator.close();
    await rpc.close();
  });
  let started: Started | null = null;
  let made = 0;
  const current = (): Started => {
    if (started === null) throw new Error('the world exists only while tests run');
    return started;
  };
  beforeAll(async () => {
    const chain = { finalityBlocks: FINALITY_BLOCKS };
    const world = await startWorld({ facilitatorUrl: facilitator.url, clock: time.clock, chain, rpcUrl: rpc.at });
    started = { world, keeper: await world.join('the-keeper'), seller: await world.join('seller-one') };
  });
  afterAll(() => started?.world.stop());
  const stage: ReviewStage = {
    get world() {
      return current().world;
    },
    get keeper() {
      return current().keeper;
    },
    get seller() {
      return current().seller;
    },
    facilitator,
    time,
    denyUses: rpc.denyUses,
    cutChain: rpc.cut,
    finalize: () => stage.world.chain.mine(FINALITY_BLOCKS + 2),
    person: () => {
      made += 1;
      return stage.world.join(`person-${made}`);
    },
    goods: () => {
      made += 1;
      return putGoods(stage, `reviewed goods ${made}`);
    },
    wallet: async (usdcUnits = 10n * PRICE) => {
      made += 1;
      const account = testAccount(`reviewed payer ${made}`);
      await fund(stage.world.chain, [{ address: account.address, usdcUnits, wei: GAS_WEI }]);
      return account;
    },
    sign: (payer, { id }) => {
      const resource = `${BASE_URL}/api/buy/${id}`;
      const terms = { payTo: WORLD_ACCOUNTS.sellerOne.address, units: PRICE, resource, now: time.clock.now() };
      return signProof(stage.world.chain, payer, terms);
    },
    decide: (by, id, body) => stage.world.ask('POST', `/api/review/${id}`, { key: by.key, body }),
    ...stageActs(() => stage),
  };
  return stage;
}

function stageActs(
  stage: () => ReviewStage,
): Pick<ReviewStage, 'reviewsOf' | 'newestEvents' | 'payBack' | 'remove' | 'buyAnew'> {
  return {
    reviewsOf: async ({ key }) => {
      const { body } = await stage().world.ask('GET', '/api/me', { key });
      return body['reviews'] as Record<string, unknown>[];
    },
    newestEvents: async (count) => {
      await stage().world.running.eventsSettled();
      const { body } = await stage().world.ask('GET', `/api/events?limit=${count}`);
      return body['events'] as Record<string, unknown>[];
    },
    payBack: async (to, units) => {
      const txHash = await transfer(stage().world, WORLD_ACCOUNTS.sellerOne, to.address, units);
      await stage().finalize();
      return txHash;
    },
    remove: async ({ id }) => {
      const { world, keeper } = stage();
      const body = { listing_id: Number(id), reason_code: 'policy', reason: 'not allowed' };
      const { status } = await world.ask('POST', '/api/mod/remove', { key: keeper.key, body });
      if (status !== 200) throw new Error(`not removed: ${status}`);
    },
    buyAnew: async (goods, buyer) => {
      const { world, facilitator } = stage();
      facilitator.script({ verify: 'forward', settle: 'forward', to: world.facilitator.url });
      const proof = await stage().sign(await stage().wallet(), goods);
      const first = await world.buy(goods.id, { key: buyer.key, proof: proof.v2 });
      if (first.status !== 202) throw new Error(`not under way: ${JSON.stringify(first.body)}`);
      await stage().finalize();
      return await world.buy(goods.id, { key: buyer.key });
    },
  };
}

async function putGoods({ world, seller }: ReviewStage, artifact: string): Promise<Goods> {
  const wallet = WORLD_ACCOUNTS.sellerOne.address;
  const { id } = await seedListing(world.db.database, seller.id, { wallet, priceUnits: PRICE, artifact });
  await world.running.eventsSettled();
  return { id, artifact };
}

interface Asked {
  id: number;
  params?: [{ data?: string; input?: string }];
}

/** Selector of authorizationState, which returns whether an authorization was used. */
const NONCE_STATE = '0xe94a0102';

/** Creates the market's connection to its chain, which can report authorizations as unused. */
async function deniableRpc() {
  const server = await startRpcServer();
  let target = '';
  let isOn = false;
  let isCut = false;
  const told = (asked: Asked, answer: { id: number }): unknown => {
    const call = asked.params?.[0];
    const isNonce = (call?.data ?? call?.input ?? '').startsWith?.(NONCE_STATE);
    return isOn && isNonce ? { jsonrpc: '2.0', id: answer.id, result: toHex(Buffer.alloc(32)) } : answer;
  };
  server.answer(async (response, body) => {
    if (isCut) {
      response.destroy();
      return;
    }
    const headers = { 'content-type': 'application/json' };
    const answered = await fetch(target, { method: 'POST', headers, body: JSON.stringify(body) });
    const answers = (await answered.json()) as { id: number } | { id: number }[];
    const asked = [body].flat() as Asked[];
    const askedBy = (id: number): Asked => asked.find((one) => one.id === id) ?? { id };
    const all = [answers].flat().map((answer) => told(askedBy(answer.id), answer));
    response.end(JSON.stringify(Array.isArray(answers) ? all : all[0]));
  });
  return {
    at: (chain: { url: string }) => {
      target = chain.url;
      return server.url;
    },
    denyUses: (is: boolean) => {
      isOn = is;
    },
    cut: (is: boolean) => {
      isCut = is;
    },
    close: () => server.close(),
  };
}

import { LISTING_FEE_UNITS } from '../../../src/contract/vocabulary.ts';
import { type TestAccount, WORLD_ACCOUNTS } from '../../../src/local/chain/accounts.ts';
import type { Hex } from '../../../src/platform/hex.ts';
import { type Claiming, claim, type ShownIntent, signChallenge, transfer } from '../direct.ts';
import { type Answer, type SignedProof, signProof } from '../market-world.ts';
import { FEE_TERMS, GAS_WEI, listGoods, newGoods, PRICE, type Trade } from '../trade.ts';

/** How long an authorization lives: nearly as long as the market takes any, so that a busy machine has the time. */
export const LIFE_SECONDS = 590;

export type CourseName = 'purchase' | 'fee' | 'claim';

/** What one buyer does to pay for one thing, once, from a wallet of its own. */
export interface Course {
  name: CourseName;
  payer: TestAccount;
  payee: Hex;
  units: bigint;
  /** Signed once and shown again and again; a claim has none. */
  proof: SignedProof | null;
  /** The next step, or the last one again: what a client does that was told to send the same request. */
  ask(): Promise<Answer>;
  /** By its key alone, as one that has lost its proof. */
  askWithoutProof(): Promise<Answer>;
  /** Whether the answer hands over what was paid for. */
  delivers(answer: Answer): boolean;
}

export type OpenCourse = (trade: Trade) => Promise<Course>;

const { sellerOne, treasury } = WORLD_ACCOUNTS;

async function openPurchase(trade: Trade): Promise<Course> {
  const { world, buyer } = trade;
  const { id, artifact, terms } = await trade.goods();
  const payer = await trade.wallet(PRICE);
  const proof = await signProof(world.chain, payer, { ...terms, secondsAhead: LIFE_SECONDS });
  return {
    ...{ name: 'purchase', payer, payee: sellerOne.address, units: PRICE, proof },
    ask: () => world.buy(id, { key: buyer.key, proof: proof.v2 }),
    askWithoutProof: () => world.buy(id, { key: buyer.key }),
    delivers: ({ body }) => body['artifact'] === artifact,
  };
}

async function openFee(trade: Trade): Promise<Course> {
  const { world, buyer } = trade;
  const body = newGoods();
  const payer = await trade.wallet(LISTING_FEE_UNITS);
  const proof = await signProof(world.chain, payer, { ...FEE_TERMS, secondsAhead: LIFE_SECONDS });
  return {
    ...{ name: 'fee', payer, payee: treasury.address, units: LISTING_FEE_UNITS, proof },
    ask: () => listGoods(world, buyer, body, { proof: proof.v2 }),
    askWithoutProof: () => listGoods(world, buyer, body),
    delivers: (answer) => typeof answer.body['listing_id'] === 'number',
  };
}

async function openClaim(trade: Trade): Promise<Course> {
  const { world, buyer } = trade;
  const { id, artifact } = await trade.goods();
  const payer = await trade.wallet(PRICE, GAS_WEI);
  let claiming: Claiming | null = null;
  const ask = async (): Promise<Answer> => {
    if (claiming === null) {
      await world.chain.mine();
      const answer = await world.ask('POST', `/api/purchase-intent/${id}`, { key: buyer.key, body: {} });
      if (answer.status !== 201 && answer.status !== 200) return answer;
      const intent = answer.body['purchase_intent'] as ShownIntent;
      const signature = await signChallenge(payer, intent);
      claiming = { intent, signature, txHash: await transfer(world, payer, intent.seller_wallet, PRICE) };
    }
    return await claim(world, buyer, id, claiming);
  };
  return {
    ...{ name: 'claim', payer, payee: sellerOne.address, units: PRICE, proof: null },
    ask,
    askWithoutProof: ask,
    delivers: ({ body }) => body['artifact'] === artifact,
  };
}

export const COURSES = { purchase: openPurchase, fee: openFee, claim: openClaim } as const satisfies Record<
  CourseName,
  OpenCourse
>;

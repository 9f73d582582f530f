import { type TestAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { settleData, usdcAdmin } from '../support/chain.ts';
import { claim, openIntent, type ShownIntent, signChallenge, transfer } from '../support/direct.ts';
import { type Answer, latestNumber, type Member, type SignedProof } from '../support/market-world.ts';
import { PRICE } from '../support/trade.ts';
import { sendBatch } from './batch-transaction.ts';
import { FINALITY_BLOCKS, type Goods, type ReviewStage } from './review-stage.ts';

const { sellerOne, stranger } = WORLD_ACCOUNTS;

/** A payment in review, with its goods and buyer. */
export interface Reviewed {
  id: number;
  reason: string;
  goods: Goods;
  buyer: Member;
  payer: TestAccount;
  received: bigint;
  /** Query string of the payment's public status. */
  query: string;
  again(): Promise<Answer>;
  /** Status and reason that this request must get while the review is undecided. */
  undecided: unknown[];
  /** True if the buyer already has the goods through another payment. */
  isBought: boolean;
  isRemoved: boolean;
  /** True if only the payer may collect, because the authorization was public before it reached this market or a stranger submitted it. */
  payerCollects: boolean;
}

type Made = Omit<Reviewed, 'id' | 'undecided' | 'isBought' | 'isRemoved' | 'payerCollects'>;

async function review(made: Made, more: Partial<Reviewed> = {}): Promise<Reviewed> {
  const answer = await made.again();
  const payment = answer.body['payment'] as { id: number; outcome: string } | undefined;
  if (answer.status !== 422 || payment?.outcome !== made.reason) throw new Error(JSON.stringify(answer.body));
  return {
    ...made,
    id: payment.id,
    undecided: [422, answer.body['reason']],
    isBought: false,
    isRemoved: false,
    payerCollects: false,
    ...more,
  };
}

interface Begun {
  goods: Goods;
  buyer: Member;
  payer: TestAccount;
  intent: ShownIntent;
  signature: Hex;
}

export async function begin(stage: ReviewStage): Promise<Begun> {
  const [goods, buyer, payer] = [await stage.goods(), await stage.person(), await stage.wallet()];
  const intent = await openIntent(stage.world, buyer, goods.id);
  return { goods, buyer, payer, intent, signature: await signChallenge(payer, intent) };
}

async function claimed(stage: ReviewStage, begun: Begun, reason: string, txHash: Hex, received = PRICE): Promise<Made> {
  const { intent, signature, goods, buyer, payer } = begun;
  await stage.finalize();
  const again = () => claim(stage.world, buyer, goods.id, { intent, signature, txHash });
  return { reason, goods, buyer, payer, received, query: `intent_id=${intent.id}`, again };
}

/** All ways in which a claimed transfer ends in a review. */
export const claimCases = {
  amount_too_little: async (stage: ReviewStage) => {
    const begun = await begin(stage);
    const txHash = await transfer(stage.world, begun.payer, sellerOne.address, PRICE - 1n);
    return await review(await claimed(stage, begun, 'amount_too_little', txHash, PRICE - 1n));
  },
  outside_window: async (stage: ReviewStage) => {
    const { world, time } = stage;
    const [goods, buyer, payer] = [await stage.goods(), await stage.person(), await stage.wallet()];
    const txHash = await transfer(world, payer, sellerOne.address, PRICE);
    await time.moveOn(world, 3);
    const intent = await openIntent(world, buyer, goods.id);
    const begun = { goods, buyer, payer, intent, signature: await signChallenge(payer, intent) };
    return await review(await claimed(stage, begun, 'outside_window', txHash));
  },
  authorized_transfer: async (stage: ReviewStage) => {
    const begun = await begin(stage);
    const { authorization, signature } = await stage.sign(begun.payer, begun.goods);
    const admin = usdcAdmin(stage.world.chain);
    const { transactionHash } = await admin.settleAuthorization(stranger, authorization, signature);
    return await review(await claimed(stage, begun, 'authorized_transfer', transactionHash));
  },
  already_bought: async (stage: ReviewStage) => {
    const begun = await begin(stage);
    const bought = await stage.buyAnew(begun.goods, begun.buyer);
    if (bought.status !== 200) throw new Error(JSON.stringify(bought.body));
    const txHash = await transfer(stage.world, begun.payer, sellerOne.address, PRICE);
    return await review(await claimed(stage, begun, 'already_bought', txHash), { isBought: true });
  },
  paid_after_removal: async (stage: ReviewStage) => {
    const begun = await begin(stage);
    await stage.remove(begun.goods);
    await stage.time.moveOn(stage.world, 5);
    const txHash = await transfer(stage.world, begun.payer, sellerOne.address, PRICE);
    return await review(await claimed(stage, begun, 'paid_after_removal', txHash), { isRemoved: true });
  },
} as const;

interface Opened {
  goods: Goods;
  buyer: Member;
  payer: TestAccount;
  proof: SignedProof;
}

async function openAttempt(stage: ReviewStage, given: Partial<Opened> = {}): Promise<Opened> {
  stage.facilitator.script({ verify: 'valid', settle: 'garbage' });
  const goods = given.goods ?? (await stage.goods());
  const buyer = given.buyer ?? (await stage.person());
  const payer = given.payer ?? (await stage.wallet());
  const proof = given.proof ?? (await stage.sign(payer, goods));
  const answer = await stage.world.buy(goods.id, { key: buyer.key, proof: proof.v2 });
  if (![202, 422, 503].includes(answer.status)) throw new Error(JSON.stringify(answer.body));
  return { goods, buyer, payer, proof };
}

async function reviewOf(stage: ReviewStage, opened: Opened, reason: string, more: Partial<Reviewed> = {}) {
  const { goods, buyer, payer, proof } = opened;
  await stage.finalize();
  const again = () => stage.world.buy(goods.id, { key: buyer.key, proof: proof.v1 });
  const { from, nonce } = proof.authorization;
  const query = `payer=${from}&nonce=${nonce}`;
  return await review({ reason, goods, buyer, payer, received: PRICE, query, again }, more);
}

/** All ways in which an x402 payment ends in a review. */
export const attemptCases = {
  transaction_used: async (stage: ReviewStage) => {
    const [one, two] = [await openAttempt(stage), await openAttempt(stage)];
    const calls = [one, two].map(({ proof }) => settleData(proof.authorization, proof.signature));
    await sendBatch(stage.world, stranger, calls);
    await stage.finalize();
    await stage.world.running.payments.reconcileOnce();
    const isFirst = (await stage.world.buy(one.goods.id, { key: one.buyer.key })).status === 200;
    return await reviewOf(stage, isFirst ? two : one, 'transaction_used');
  },
  listing_removed: async (stage: ReviewStage) => {
    const opened = await openAttempt(stage);
    await stage.remove(opened.goods);
    await stage.time.moveOn(stage.world, 5);
    const { authorization, signature } = opened.proof;
    await usdcAdmin(stage.world.chain).settleAuthorization(stranger, authorization, signature);
    return await reviewOf(stage, opened, 'listing_removed', { isRemoved: true });
  },
  used_before_opening: async (stage: ReviewStage) => {
    const goods = await stage.goods();
    const payer = await stage.wallet();
    const proof = await stage.sign(payer, goods);
    const { blockNumber } = await usdcAdmin(stage.world.chain).settleAuthorization(
      stranger,
      proof.authorization,
      proof.signature,
    );
    // The transfer's block becomes the newest final one, but the provider still reports the authorization as unused.
    const ahead = Number(blockNumber + BigInt(FINALITY_BLOCKS) - (await latestNumber(stage.world.chain)));
    await stage.world.chain.mine(ahead);
    stage.denyUses(true);
    const opened = await openAttempt(stage, { goods, payer, proof });
    stage.denyUses(false);
    return await reviewOf(stage, opened, 'used_before_opening', { payerCollects: true });
  },
} as const;

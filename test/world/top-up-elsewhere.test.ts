import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { createWorldTime, signChallenge, statusBy, transfer } from '../support/direct.ts';
import type { Answer } from '../support/market-world.ts';
import { testTrade } from '../support/trade.ts';
import { type DirectCase, directCases, someHash } from './direct-cases.ts';

const time = createWorldTime();
const trade = testTrade({ clock: time.clock, chain: { finalityBlocks: 16 } });
const { world, seller } = trade;
const { begin, pay, claimWith, countOf, hashesOf } = directCases(trade);

const finalize = (): Promise<void> => world.chain.mine(18);
const pass = (): Promise<void> => world.running.payments.reconcileOnce();
const LITTLE = 1_000n;
const idOf = ({ body }: Answer): number => (body['payment'] as { id: number }).id;
const decide = (id: number, body: object): Promise<Answer> =>
  world.ask('POST', `/api/review/${id}`, { key: seller.key, body });

interface Review {
  payment_id: number;
  listing_id: number;
  tx_hash: Hex;
  further_transfers?: { tx_hash: Hex; claimed: boolean }[];
}

async function reviewsOf({ id }: DirectCase): Promise<Review[]> {
  const { body } = await world.ask('GET', '/api/me', { key: seller.key });
  return (body['reviews'] as Review[]).filter((one) => one.listing_id === Number(id));
}
const claimedOf = async (given: DirectCase): Promise<Hex[]> =>
  (await reviewsOf(given)).flatMap(({ further_transfers: further = [] }) =>
    further.filter(({ claimed }) => claimed).map((one) => one.tx_hash),
  );

/**
 * One wallet buys two goods of one seller at the same price. It paid too little for the first, which is in review, and then sent the full
 * price.
 */
async function twoGoods() {
  const one = await begin();
  const two = await begin({ payer: one.payer });
  const little = await pay(one, LITTLE);
  await finalize();
  const answer = await claimWith(one, little);
  expect(answer).toMatchObject({ status: 422, body: { reason: 'amount_too_little' } });
  return { one, two, little, more: await pay(one), reviewId: idOf(answer) };
}

/** Claims the second transfer for the first goods, where the seller sees it. */
async function claimForFirst() {
  const given = await twoGoods();
  await finalize();
  expect(await claimWith(given.one, given.more)).toMatchObject({ status: 422, body: { tx_hash: given.more } });
  expect(await claimedOf(given.one)).toEqual([given.more]);
  return given;
}

const undecided = (txHash: Hex) => ({
  status: 409,
  body: {
    ...{ reason: 'payment_undecided', tx_hash: txHash, do_not_pay_again: true },
    detail: `Transaction ${txHash} is claimed for another intent, and that is undecided.`,
  },
});

describe('a transfer that the seller of one thing sees as claimed', () => {
  it.each([true, false])('pays for nothing else once the seller has delivered, a pass before: %s', async (passes) => {
    const { one, two, little, more, reviewId } = await claimForFirst();
    expect(await claimWith(two, more)).toMatchObject(undecided(more));
    expect((await claimWith(two, more)).body).toMatchObject({ intent_id: one.intent.id, payment: { id: reviewId } });
    expect((await decide(reviewId, { outcome: 'deliver' })).status).toBe(200);
    if (!passes) expect(await claimWith(two, more)).toMatchObject(undecided(more));
    await pass();
    expect(await claimWith(two, more)).toMatchObject({ status: 409, body: { reason: 'transaction_used' } });
    expect(await reviewsOf(one)).toMatchObject([{ tx_hash: more }]);
    expect(await claimWith(one, little)).toMatchObject({ status: 200, body: { artifact: one.artifact } });
    expect(await countOf(two.id)).toEqual({ payments: 0n, purchases: 0n });
    // The second transfer did not pay for the second goods, so another transfer can buy them.
    const own = await pay(two);
    await finalize();
    expect(await claimWith(two, own)).toMatchObject({ status: 200, body: { artifact: two.artifact } });
  });

  it.each(['declined', 'refunded'])('pays for other goods once the first is %s', async (outcome) => {
    const { one, two, more, reviewId } = await claimForFirst();
    const back =
      outcome === 'declined'
        ? {}
        : { tx_hash: await transfer(world, WORLD_ACCOUNTS.sellerOne, one.payer.address, LITTLE) };
    await finalize();
    expect((await decide(reviewId, { outcome, ...back })).status).toBe(200);
    expect(await claimWith(two, more)).toMatchObject({ status: 200, body: { artifact: two.artifact } });
    expect(await statusBy(world, { tx_hash: more })).toMatchObject({ payment_status: 'completed' });
    expect(await claimWith(one, more)).toMatchObject({ status: 409, body: { reason: 'transaction_used' } });
  });

  it('is not named for goods that are bought already either', async () => {
    const { two, more, one, reviewId } = await claimForFirst();
    const own = await pay(two);
    await finalize();
    expect((await claimWith(two, own)).status).toBe(200);
    expect(await claimWith(two, more)).toMatchObject({ status: 200, body: { artifact: two.artifact } });
    expect([await hashesOf(two), await claimedOf(one)]).toEqual([[own], [more]]);
    expect((await decide(reviewId, { outcome: 'declined' })).status).toBe(200);
    expect(await claimWith(one, more)).toMatchObject({ status: 200, body: { artifact: one.artifact } });
  });

  it('comes to no other claim by the wallet that takes that over', async () => {
    const { one, two, more, reviewId } = await claimForFirst();
    const byOther = await signChallenge(await trade.wallet(), two.intent);
    const open = someHash();
    expect((await claimWith(two, open, byOther)).status).toBe(202);
    expect(await claimWith(two, more, byOther)).toMatchObject({ status: 422, body: { reason: 'wrong_payer' } });
    expect((await claimWith(two, open)).status).toBe(202);
    await pass();
    expect([await hashesOf(two), await claimedOf(one)]).toEqual([[open], [more]]);
    expect(await countOf(two.id)).toEqual({ payments: 1n, purchases: 0n });
    expect((await decide(reviewId, { outcome: 'declined' })).status).toBe(200);
    expect(await claimWith(two, more)).toMatchObject({ status: 200, body: { artifact: two.artifact } });
  });

  it('is told to no other merchant who pays from the same wallet', async () => {
    const { one, more } = await claimForFirst();
    const other = await begin({ member: await world.join('shares-a-wallet'), payer: one.payer });
    const answer = await claimWith(other, more);
    expect(answer).toMatchObject(undecided(more));
    expect([answer.body['payment'], answer.body['intent_id']]).toEqual([undefined, undefined]);
  });
});

it('a transfer that is undecided for other goods is not kept while the seller decides', async () => {
  const { one, two, more } = await twoGoods();
  expect((await claimWith(two, more)).status).toBe(202);
  expect(await claimWith(one, more)).toMatchObject(undecided(more));
  expect(await claimedOf(one)).toEqual([]);
  await finalize();
  expect(await claimWith(two, more)).toMatchObject({ status: 200, body: { artifact: two.artifact } });
  expect(await claimWith(one, more)).toMatchObject({ status: 409, body: { reason: 'transaction_used' } });
});

it('claimed for both at once it counts for one of them', async () => {
  for (let round = 0; round < 6; round += 1) {
    const { one, two, more, reviewId } = await twoGoods();
    await finalize();
    const [kept, bought] = await Promise.all([claimWith(one, more), claimWith(two, more)]);
    const isKept = kept.status === 422;
    expect([round, kept.status, bought.status]).toEqual([round, ...(isKept ? [422, 409] : [409, 200])]);
    expect(await claimedOf(one)).toEqual(isKept ? [more] : []);
    expect((await decide(reviewId, { outcome: 'deliver' })).status).toBe(200);
    expect((await claimWith(two, more)).status).toBe(isKept ? 409 : 200);
  }
});

import sql from 'sql-template-tag';
import { hashMessage } from 'viem';
import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { toBytes } from '../../src/platform/hex.ts';
import { openIntent, signChallenge, transfer } from '../support/direct.ts';
import type { Answer, Member } from '../support/market-world.ts';
import { PRICE } from '../support/trade.ts';
import { createSafe } from '../support/wallets/safe.ts';
import { someHash } from './direct-cases.ts';
import { unprovenStage } from './unproven-stage.ts';

const stage = unprovenStage();
const { trade } = stage;
const { world, seller } = trade;
let made = 0;

const join = (): Promise<Member> => {
  made += 1;
  return world.join(`merchant-${made}`);
};
const idOf = ({ body }: Answer): number => (body['payment'] as { id: number }).id;
const reviewsOf = async (txHash: string) =>
  (await stage.reviewsOf(seller)).filter((review) => review['tx_hash'] === txHash);
const decide = (id: unknown, body: object): Promise<Answer> => stage.review(seller, id, body);

async function newSafe() {
  const safe = await createSafe(world.chain, { owners: 1, threshold: 1, usdcUnits: 20_000_000n });
  await safe.deploy();
  await world.finalize();
  return safe;
}

/** The owner's first transfer was too small and is in review, and a second one was sent. A rival has an intent for other goods. */
async function toppedUp() {
  const [own, other] = [await stage.goods(), await stage.goods()];
  const safe = await newSafe();
  const [owner, rival] = [await join(), await join()];
  const intent = await own.open(owner, safe.address);
  const foreign = await other.open(rival, safe.address);
  const first = await safe.transfer(intent.seller_wallet, PRICE - 200_000n);
  const second = await safe.transfer(intent.seller_wallet, PRICE);
  await stage.waitADay();
  const signature = await safe.sign(hashMessage(intent.challenge));
  const name = (txHash: string): Promise<Answer> => own.claim(owner, { intent, txHash, signature });
  const steal = async (): Promise<Answer> =>
    other.claim(rival, { intent: foreign, txHash: second, signature: await stage.sign(foreign) });
  const answer = await name(first);
  expect(answer.body).toMatchObject({ reason: 'amount_too_little', payment_status: 'needs_review' });
  return { own, other, safe, second, name, steal, reviewId: idOf(answer) };
}

describe('a further transfer that its wallet has signed for while the payee decides', () => {
  it.each(['after it was named', 'before it was named'])('is not taken by who claims it unsigned %s', async (when) => {
    const { own, other, second, name, steal, reviewId } = await toppedUp();
    const early = when === 'before it was named' ? await steal() : null;
    if (early !== null) expect(early.body).toMatchObject({ reason: 'payer_unproven' });
    expect(await name(second)).toMatchObject({ status: 422, body: { reason: 'amount_too_little', tx_hash: second } });
    expect(await reviewsOf(second)).toEqual([]);
    const stolen = await steal();
    expect([stolen.status, stolen.body['reason']]).toEqual([409, 'transaction_used']);
    if (early !== null) expect((await decide(idOf(early), { outcome: 'deliver' })).status).toBeGreaterThanOrEqual(400);
    expect(other.isTaken(await steal())).toBe(false);
    expect((await decide(reviewId, { outcome: 'declined' })).status).toBe(200);
    // The second transfer stays reserved for this wallet even between the decision and its claim.
    expect(await steal()).toMatchObject({ status: 409, body: { reason: 'transaction_used' } });
    const paid = await name(second);
    expect([paid.status, own.isTaken(paid)]).toEqual([200, true]);
  });

  it('leaves no review to a rival that claims it at the same moment', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { other, second, name, steal } = await toppedUp();
      const [kept, stolen] = await Promise.all([name(second), steal()]);
      expect([round, kept.status, other.isTaken(stolen)]).toEqual([round, 422, false]);
      expect(['payer_unproven', 'transaction_used']).toContain(stolen.body['reason']);
      expect(await reviewsOf(second)).toEqual([]);
    }
  });

  it('pays once if the payee delivers to the rival at that very moment', async () => {
    for (let round = 0; round < 4; round += 1) {
      const { other, second, name, steal, reviewId } = await toppedUp();
      const rivalId = idOf(await steal());
      const [kept, decided] = await Promise.all([name(second), decide(rivalId, { outcome: 'deliver' })]);
      const wasDelivered = decided.status === 200;
      expect([round, kept.status]).toEqual([round, wasDelivered ? 409 : 422]);
      if (wasDelivered) expect(kept.body).toMatchObject({ reason: 'transaction_used', do_not_pay_again: true });
      expect(other.isTaken(await steal())).toBe(wasDelivered);
      expect((await decide(reviewId, { outcome: 'declined' })).status).toBe(200);
      expect((await name(second)).status).toBe(wasDelivered ? 409 : 200);
    }
  });

  it('is not delivered to the rival where an older version of the market has kept it', async () => {
    const { safe, second, steal, reviewId } = await toppedUp();
    const rivalId = idOf(await steal());
    await world.db.database.run(sql`insert into claim_hashes (payment_id, tx_hash, refused_reason)
      values (${reviewId}, ${toBytes(second as `0x${string}`)}, 'payment_undecided')`);
    const back = await transfer(world, WORLD_ACCOUNTS.sellerOne, safe.address, PRICE);
    await world.finalize();
    for (const body of [{ outcome: 'deliver' }, { outcome: 'refunded', tx_hash: back }]) {
      expect(await decide(rivalId, body)).toMatchObject({ status: 409, body: { reason: 'not_deliverable' } });
    }
    expect((await decide(rivalId, { outcome: 'declined' })).status).toBe(200);
  });
});

it('a wallet that takes a claim over has signed for all that it names', async () => {
  const [goods, other] = [await stage.goods(), await stage.goods()];
  const safe = await newSafe();
  const [owner, rival] = [await join(), await join()];
  const foreign = await other.open(rival, safe.address);
  const sent = await safe.transfer(foreign.seller_wallet, PRICE);
  await stage.waitADay();
  const stolen = await other.claim(rival, { intent: foreign, txHash: sent, signature: await stage.sign(foreign) });
  expect(stolen.body).toMatchObject({ reason: 'payer_unproven' });
  const intent = await openIntent(world, owner, goods.id);
  const byOther = await signChallenge(await trade.wallet(), intent);
  // The signature of another key opens the claim, so the wallet's transfers do not belong to that claim.
  expect((await goods.claim(owner, { intent, txHash: someHash(), signature: byOther })).status).toBe(202);
  expect((await goods.claim(owner, { intent, txHash: sent, signature: byOther })).status).toBe(422);
  const now = await safe.transfer(intent.seller_wallet, PRICE);
  await world.finalize();
  const signature = await safe.sign(hashMessage(intent.challenge));
  expect(await goods.claim(owner, { intent, txHash: now, signature })).toMatchObject({ status: 200 });
  expect((await reviewsOf(sent)).filter((review) => review['reason'] === 'payer_unproven')).toEqual([]);
});

import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { claim, openIntent, signChallenge, transfer } from '../support/direct.ts';
import { PRICE } from '../support/trade.ts';
import { begin, claimCases } from './review-cases.ts';
import { expectDecided, expectUndecided, OUTCOMES } from './review-outcomes.ts';
import { reviewStage, statusAndReason } from './review-stage.ts';

const stage = await reviewStage();

describe.each(Object.keys(claimCases) as (keyof typeof claimCases)[])('a claim in review for %s', (reason) => {
  it.each(OUTCOMES)('waits for the seller alone, and %s is what the seller said', async (outcome) => {
    const made = await claimCases[reason](stage);
    await expectUndecided(stage, made);
    await expectDecided(stage, made, outcome);
  });
});

describe('while a claim is in review', () => {
  it('no other payment of its merchant or its wallet begins, so that it can be delivered whatever was tried', async () => {
    const { world, seller } = stage;
    const [begun, other] = [await begin(stage), await stage.person()];
    const { goods, buyer, payer, intent, signature } = begun;
    const [elsewhere, cold] = [await stage.wallet(), await stage.wallet()];
    const second = await openIntent(world, buyer, goods.id, { payer_wallet: elsewhere.address });
    const foreign = await openIntent(world, other, goods.id);
    const txHash = await transfer(world, payer, WORLD_ACCOUNTS.sellerOne.address, PRICE - 1n);
    await stage.finalize();
    const review = await claim(world, buyer, goods.id, { intent, signature, txHash });
    expect(statusAndReason(review)).toEqual([422, 'amount_too_little']);
    const { id } = review.body['payment'] as { id: number };
    stage.facilitator.script({ verify: 'forward', settle: 'forward', to: world.facilitator.url });
    const proofs = [await stage.sign(payer, goods), await stage.sign(cold, goods), await stage.sign(payer, goods)];
    const paid = await transfer(world, payer, WORLD_ACCOUNTS.sellerOne.address, PRICE);
    const more = await transfer(world, elsewhere, WORLD_ACCOUNTS.sellerOne.address, PRICE);
    await stage.finalize();
    const answers = await Promise.all([
      world.buy(goods.id, { key: other.key, proof: proofs[0]?.v2 ?? expect.fail() }),
      world.buy(goods.id, { key: buyer.key, proof: proofs[1]?.v2 ?? expect.fail() }),
      world.buy(goods.id, { proof: proofs[2]?.v1 ?? expect.fail() }),
      claim(world, other, goods.id, { intent: foreign, signature: await signChallenge(payer, foreign), txHash: paid }),
      claim(world, buyer, goods.id, {
        intent: second,
        signature: await signChallenge(elsewhere, second),
        txHash: more,
      }),
    ]);
    expect(answers.map(statusAndReason)).toEqual([
      ...Array(3).fill([422, 'needs_review']),
      ...Array(2).fill([409, 'payment_undecided']),
    ]);
    for (const { body } of answers) expect(body['do_not_pay_again']).toBe(true);
    const { rows } = await world.db.database.one<{ rows: bigint }>(
      sql`select count(*) as rows from payments where listing_id = ${goods.id}`,
    );
    expect(rows).toBe(1n);
    expect((await stage.decide(seller, id, { outcome: 'deliver' })).status).toBe(200);
    expect((await world.buy(goods.id, { key: buyer.key })).body['artifact']).toBe(goods.artifact);
    // The seller decides about the additional money too. It does not count as a second sale.
    const extra = await claim(world, buyer, goods.id, {
      intent: second,
      signature: await signChallenge(elsewhere, second),
      txHash: more,
    });
    expect(statusAndReason(extra)).toEqual([422, 'already_bought']);
    const again = extra.body['payment'] as { id: number };
    expect((await stage.decide(seller, again.id, { outcome: 'deliver' })).status).toBe(200);
    const sold = await world.ask('GET', `/api/listing/${goods.id}`);
    expect(sold.body['listing']).toMatchObject({ sales: 1 });
  });

  it('a surplus can be claimed more than once, and each is decided on by itself', async () => {
    const { world, seller } = stage;
    const { goods, buyer, payer, intent, signature } = await begin(stage);
    const named = await stage.wallet();
    const second = await openIntent(world, buyer, goods.id, { payer_wallet: named.address });
    expect((await stage.buyAnew(goods, buyer)).status).toBe(200);
    const sent = [
      { intent, signature, txHash: await transfer(world, payer, WORLD_ACCOUNTS.sellerOne.address, PRICE) },
      {
        intent: second,
        signature: await signChallenge(named, second),
        txHash: await transfer(world, named, WORLD_ACCOUNTS.sellerOne.address, PRICE),
      },
    ];
    await stage.finalize();
    const reviews = await Promise.all(sent.map((one) => claim(world, buyer, goods.id, one)));
    expect(reviews.map(statusAndReason)).toEqual(Array(2).fill([422, 'already_bought']));
    const ids = reviews.map(({ body }) => (body['payment'] as { id: number }).id);
    const decided = await Promise.all(
      ids.map((id, n) => stage.decide(seller, id, { outcome: n ? 'declined' : 'deliver' })),
    );
    expect(decided.map(({ status }) => status)).toEqual([200, 200]);
    const me = await world.ask('GET', '/api/purchases', { key: buyer.key });
    expect(me.body['total']).toBe(1);
  });
});

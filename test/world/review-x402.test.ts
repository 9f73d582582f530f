import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { settleData } from '../support/chain.ts';
import { transfer } from '../support/direct.ts';
import { signProof } from '../support/market-world.ts';
import { FEE_TERMS, listGoods, newGoods } from '../support/trade.ts';
import { sendBatch } from './batch-transaction.ts';
import { attemptCases } from './review-cases.ts';
import { expectDecided, expectUndecided, OUTCOMES } from './review-outcomes.ts';
import { reviewStage, statusAndReason } from './review-stage.ts';

const stage = await reviewStage();

describe.each(Object.keys(attemptCases) as (keyof typeof attemptCases)[])(
  'an x402 payment in review for %s',
  (reason) => {
    it.each(OUTCOMES)('waits for the seller alone, and %s is what the seller said', async (outcome) => {
      const made = await attemptCases[reason](stage);
      await expectUndecided(stage, made);
      await expectDecided(stage, made, outcome);
    });
  },
);

it('an x402 payment that a stranger submitted is delivered after a review to its payer alone', async () => {
  // Pretend that the facilitator has named its signers; this transaction was sent by someone else.
  await stage.world.db.database.run(
    sql`insert into facilitator_readings (chain_id, url, read_at, published)
      values (8453, ${stage.facilitator.url}, ${new Date(stage.time.clock.now())}, 1)
      on conflict (chain_id, url) do update set published = 1`,
  );
  const made = await attemptCases.listing_removed(stage);
  await expectDecided(stage, { ...made, payerCollects: true }, 'deliver');
  expect(await stage.reviewsOf(stage.seller)).toEqual([]);
});

it('a fee in a transaction that proves another one is refunded or declined; it cannot become a credit, and is paid again', async () => {
  const { world, keeper, facilitator } = stage;
  facilitator.script({ verify: 'valid', settle: 'garbage' });
  const { treasury, stranger } = WORLD_ACCOUNTS;
  const terms = { ...FEE_TERMS, now: stage.time.clock.now() };
  const open = async () => {
    const [member, payer, body] = [await stage.person(), await stage.wallet(), newGoods()];
    const proof = await signProof(world.chain, payer, terms);
    expect((await listGoods(world, member, body, { proof: proof.v2 })).status).toBe(202);
    return { member, payer, body, proof };
  };
  const fees = [await open(), await open()];
  await sendBatch(
    world,
    stranger,
    fees.map(({ proof }) => settleData(proof.authorization, proof.signature)),
  );
  await stage.finalize();
  await world.running.payments.reconcileOnce();
  const answers = await Promise.all(fees.map(({ member, body }) => listGoods(world, member, body)));
  expect(answers.map(statusAndReason).sort()).toEqual([
    [201, 'ok'],
    [422, 'needs_review'],
  ]);
  const at = answers.findIndex(({ status }) => status === 422);
  const [{ member, payer, body, proof }, review] = [fees[at] ?? expect.fail(), answers[at] ?? expect.fail()];
  const { id } = review.body['payment'] as { id: number };
  expect(statusAndReason(await stage.decide(keeper, id, { outcome: 'deliver' }))).toEqual([409, 'not_deliverable']);
  const back = await transfer(world, treasury, payer.address, FEE_TERMS.units);
  await stage.finalize();
  expect((await stage.decide(keeper, id, { outcome: 'refunded', tx_hash: back })).status).toBe(200);
  const old = await listGoods(world, member, body, { proof: proof.v1 });
  expect([...statusAndReason(old), old.body['do_not_pay_again']]).toEqual([402, 'authorization_lapsed', false]);
  expect(old.body['detail']).toContain('was reviewed, and is refunded');
  facilitator.script({ verify: 'forward', settle: 'forward', to: world.facilitator.url });
  const newProof = await signProof(world.chain, payer, { ...terms, now: stage.time.clock.now() });
  expect((await listGoods(world, member, body, { proof: newProof.v2 })).status).toBe(202);
  await stage.finalize();
  expect((await listGoods(world, member, body)).status).toBe(201);
});

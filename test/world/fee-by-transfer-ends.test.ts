import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { claim, openIntent, signChallenge, transfer } from '../support/direct.ts';
import { type Member, paidUnits } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { fundedWallet, type GoodsBody, listGoods, newGoods, signFee } from '../support/trade.ts';
import { transferTogether } from './batch-transaction.ts';
import { FEE, feeStage, type PaidFee, statusAndReason } from './fee-stage.ts';

const { treasury, sellerOne } = WORLD_ACCOUNTS;
const stage = feeStage();
const { finalize, list, payFee, merchant, wallet, countOf, creditsOf } = stage;
let made = 0;

const withMark = async (answer: ReturnType<typeof list>): Promise<unknown[]> => {
  const got = await answer;
  return [...statusAndReason(got), got.body['do_not_pay_again']];
};

/** Gives a merchant a credit: a fee that became final after its listing had become impossible. */
async function withCredit(
  before?: (member: Member) => Promise<void>,
): Promise<{ member: Member; body: GoodsBody; paid: PaidFee; free(): Promise<unknown> }> {
  made += 1;
  const member = await merchant();
  const seller: Hex = testAccount(`taken by a thing ${made}`).address;
  const body = newGoods({ seller_wallet: seller });
  const paid = await payFee(member);
  await before?.(member);
  expect((await list(member, body, paid)).status).toBe(202);
  const { database } = stage.world.db;
  await database.run(sql`insert into wallet_uses (wallet, kind) values (${toBytes(seller)}, 'world')`);
  await finalize();
  await stage.world.running.payments.reconcileOnce();
  const free = () => database.run(sql`delete from wallet_uses where wallet = ${toBytes(seller)}`);
  return { member, body, paid, free };
}

describe('a fee by transfer whose listing cannot be made', () => {
  it('is a credit that one listing spends; who shows the fee again is told not to pay', async () => {
    const { member, body, paid } = await withCredit();
    expect(await creditsOf(member)).toBe(1);
    expect([await countOf('pending_listings', member), await countOf('artifact_guards', member)]).toEqual([0, 0]);
    const status = await stage.world.ask('GET', `/api/payment?intent_id=${paid.intent.id}`);
    expect(status.body['payment']).toMatchObject({ payment_status: 'completed', listing_id: null });
    expect(await withMark(list(member, body, paid))).toEqual([409, 'wallet_in_use', true]);
    expect(await withMark(listGoods(stage.world, member, body))).toEqual([409, 'wallet_in_use', true]);
    expect(await creditsOf(member)).toBe(1);
    const listed = await list(member, newGoods(), paid);
    expect(listed).toMatchObject({ status: 201, body: { fee: { tx_hash: paid.txHash, verified_via: 'direct' } } });
    expect(await creditsOf(member)).toBe(0);
    expect(await withMark(list(member, newGoods(), paid))).toEqual([409, 'transaction_used', true]);
    expect(statusAndReason(await listGoods(stage.world, member, newGoods()))).toEqual([402, 'payment_required']);
    expect([await countOf('fees', member), await countOf('listings', member)]).toEqual([1, 1]);
  });

  it('lists the same body after all once that is possible', async () => {
    const { member, body, paid, free } = await withCredit();
    await free();
    const listed = await list(member, body, paid);
    expect(listed).toMatchObject({ status: 201, body: { fee: { tx_hash: paid.txHash } } });
    const status = await stage.world.ask('GET', `/api/payment?tx_hash=${paid.txHash}`);
    expect(status.body['payment']).toMatchObject({ listing_id: listed.body['listing_id'] });
  });

  it('is spent before another transfer is taken up, and that one pays for the next goods', async () => {
    const surplusFees: PaidFee[] = [];
    const { member } = await withCredit(async (one) => {
      // A merchant with a credit gets no new intent, so this one was opened earlier.
      surplusFees.push(await payFee(one, { named: await wallet() }));
    });
    const own = surplusFees[0] ?? expect.fail();
    expect(await creditsOf(member)).toBe(1);
    const first = await list(member, newGoods(), own);
    expect(first.status).toBe(201);
    expect(first.body['fee']).not.toMatchObject({ tx_hash: own.txHash });
    expect(await creditsOf(member)).toBe(0);
    expect(await list(member, newGoods(), own)).toMatchObject({ status: 201, body: { fee: { tx_hash: own.txHash } } });
    expect([await countOf('fees', member), await countOf('listings', member)]).toEqual([2, 2]);
  });
});

async function reviewed(units: bigint): Promise<{ member: Member; body: GoodsBody; paid: PaidFee; id: number }> {
  const member = await merchant();
  const body = newGoods();
  const paid = await payFee(member, { units });
  await finalize();
  const review = await list(member, body, paid);
  expect(review.status).toBe(422);
  return { member, body, paid, id: (review.body['payment'] as { id: number }).id };
}

const decide = (id: number, body: object) =>
  stage.world.ask('POST', `/api/review/${id}`, { key: stage.keeper.key, body });

async function refund(to: TestAccount, units: bigint): Promise<Hex> {
  const txHash = await transfer(stage.world, treasury, to.address, units);
  await finalize();
  return txHash;
}

describe('a fee by transfer that the maintainer does not accept', () => {
  it.each(['declined', 'refunded'] as const)('%s: the same goods can be paid for again, once', async (outcome) => {
    const { member, body, paid, id } = await reviewed(FEE - 1n);
    const proof = outcome === 'refunded' ? { tx_hash: await refund(paid.payer, FEE - 1n) } : {};
    expect((await decide(id, { outcome, note: 'as agreed', ...proof })).body['payment']).toMatchObject({
      payment_status: 'rejected',
      outcome,
      do_not_pay_again: false,
    });
    const [event] = await stage.newestEvents();
    expect(event).toMatchObject({ kind: 'moderation', detail: { action: 'fee_review', payment_id: id, outcome } });
    expect(statusAndReason(await decide(id, { outcome: 'deliver' }))).toEqual([409, 'already_decided']);
    expect(await creditsOf(member)).toBe(0);
    expect(statusAndReason(await list(member, body, paid))).toEqual([409, 'transaction_used']);
    expect(statusAndReason(await listGoods(stage.world, member, body))).toEqual([402, 'payment_required']);
    const newPayment = await payFee(member, { payer: paid.payer });
    await finalize();
    expect((await list(member, body, newPayment)).status).toBe(201);
    expect((await list(member, body, newPayment)).status).toBe(200);
    expect([await countOf('fees', member), await countOf('listings', member)]).toEqual([1, 1]);
  });

  it('refunded: by the treasury alone, and by a transfer that pays for nothing else', async () => {
    const { member, paid, id } = await reviewed(FEE - 1n);
    const elsewhere = await transfer(stage.world, sellerOne, paid.payer.address, FEE);
    const back = await refund(paid.payer, FEE - 1n);
    const refuse = async (txHash: string) =>
      statusAndReason(await decide(id, { outcome: 'refunded', tx_hash: txHash }));
    expect(await refuse(elsewhere)).toEqual([422, 'refund_not_found']);
    expect(await refuse(paid.txHash)).toEqual([409, 'transaction_used']);
    expect((await decide(id, { outcome: 'refunded', tx_hash: back })).status).toBe(200);
    const next = await payFee(member, { payer: paid.payer });
    expect(await withMark(list(member, newGoods(), { ...next, txHash: back }))).toEqual([
      409,
      'transaction_used',
      true,
    ]);
    expect(await countOf('pending_listings', member)).toBe(0);
  });
});

describe('one transaction with a fee and a purchase in it', () => {
  it('proves one of the two when both are claimed at once, and the other is not asked to pay again', async () => {
    const { world } = stage;
    const [member, seller] = [await merchant(), await merchant()];
    const price = 2_500_000n;
    const { id } = await seedListing(world.db.database, seller.id, { wallet: sellerOne.address, priceUnits: price });
    await world.running.eventsSettled();
    const payer = await wallet();
    const unpaid = await payFee(member, { payer });
    const purchase = await openIntent(world, member, id);
    const signature = await signChallenge(payer, purchase);
    const txHash = await transferTogether(world, payer, [
      { to: treasury.address, units: FEE },
      { to: sellerOne.address, units: price },
    ]);
    await finalize();
    const [fee, bought] = await Promise.all([
      list(member, newGoods(), { ...unpaid, txHash }),
      claim(world, member, id, { intent: purchase, signature, txHash }),
    ]);
    const answers = [fee, bought].map(({ status, body }) => [Math.floor(status / 100), body['reason']]);
    expect(answers.sort()).toEqual([
      [2, undefined],
      [4, 'transaction_used'],
    ]);
    const loser = fee.status === 409 ? fee : bought;
    expect(loser.body['do_not_pay_again']).toBe(true);
    const { proofs } = await world.db.database.one<{ proofs: bigint }>(
      sql`select count(*) as proofs from payment_proofs where tx_hash = ${toBytes(txHash)}`,
    );
    expect(proofs).toBe(1n);
  });
});

describe('an authorization in addition to a transfer', () => {
  it('is left alone while the fee by transfer is undecided, and after it', async () => {
    const { world } = stage;
    const member = await merchant();
    const body = newGoods();
    const paid = await payFee(member);
    const payer = await fundedWallet(world);
    expect((await list(member, body, paid)).status).toBe(202);
    const sent = await Promise.all([signFee(world, payer), signFee(world, payer)]);
    for (const proof of sent) {
      expect((await listGoods(world, member, body, { proof: proof.v2 })).body['payment']).toMatchObject({
        tx_hash: paid.txHash,
      });
    }
    await finalize();
    expect((await listGoods(world, member, body, { proof: sent[0]?.v1 ?? expect.fail() })).status).toBe(201);
    expect((await listGoods(world, member, body, { proof: sent[1]?.v1 ?? expect.fail() })).status).toBe(200);
    expect(await paidUnits(world.chain, payer.address, treasury.address)).toEqual([]);
    expect(await countOf('payments', member)).toBe(1);
  });
});

import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { findIntent, insertClaim } from '../../src/market/payments/paths/direct/store.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { createWorldTime, openIntent, secondOf, signChallenge, statusBy, transfer } from '../support/direct.ts';
import { untilWaiting } from '../support/listing-life.ts';
import { type Answer, signProof } from '../support/market-world.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';
import { transferTogether } from './batch-transaction.ts';
import { type DirectCase, directCases, someHash } from './direct-cases.ts';

const time = createWorldTime();
const trade = testTrade({ clock: time.clock, chain: { finalityBlocks: 16 } });
const { world, seller } = trade;
const { sellerOne } = WORLD_ACCOUNTS;
const { begin, pay, claimWith, statusOf, hashesOf, countOf } = directCases(trade);

const finalize = (): Promise<void> => world.chain.mine(18);
const pass = (): Promise<void> => world.running.payments.reconcileOnce();

const inReview = (reason: string) => ({
  status: 422,
  body: { reason, payment_status: 'needs_review', do_not_pay_again: true },
});
const idOf = ({ body }: Answer): number => (body['payment'] as { id: number }).id;
const decide = (id: number, body: object): Promise<Answer> =>
  world.ask('POST', `/api/review/${id}`, { key: seller.key, body });

async function reviewsOf({ id }: DirectCase): Promise<unknown[]> {
  const { body } = await world.ask('GET', '/api/me', { key: seller.key });
  const all = body['reviews'] as Record<string, unknown>[];
  return all.filter((one) => one['listing_id'] === Number(id)).map((one) => [one['reason'], one['received_usdc']]);
}

async function giveBack(given: DirectCase, units: bigint): Promise<Hex> {
  const txHash = await transfer(world, sellerOne, given.payer.address, units);
  await finalize();
  return txHash;
}

/** Pays and gets the goods, then pays a second time. */
async function paidTwice(): Promise<{ given: DirectCase; first: Hex; second: Hex }> {
  const given = await begin();
  const first = await pay(given);
  await finalize();
  expect((await claimWith(given, first)).status).toBe(200);
  return { given, first, second: await pay(given, PRICE + 1n) };
}

it('of two equal claims at once the second goes on with the first, though something else of that merchant is undecided', async () => {
  const bought = await begin();
  const first = await pay(bought);
  await finalize();
  expect((await claimWith(bought, first)).status).toBe(200);
  // Another merchant, whose own payment is pending, claims a second payment of a wallet that already has the goods.
  const member = await world.join('claims-twice');
  const given = await begin({ member, payer: bought.payer, goods: bought });
  const second = await pay(given);
  await finalize();
  const signed = await signProof(world.chain, await trade.wallet(), { ...bought.terms, now: time.clock.now() });
  const buying = await world.buy(bought.id, { key: member.key, proof: signed.v2 });
  expect([202, 503]).toContain(buying.status);
  const intent = await findIntent(world.db.database, given.intent.id);
  if (intent === null) throw new Error('there is no intent');
  // Both requests wait for a third claim of the same intent, whose transaction is then rolled back.
  const released = Promise.withResolvers<void>();
  const placed = Promise.withResolvers<void>();
  const third = world.db.database
    .transaction(async (tx) => {
      const payer = given.payer.address;
      await insertClaim(time, tx, { intent, payer, bodyHash: null, surplus: true });
      placed.resolve();
      await released.promise;
      throw new Error('given up');
    })
    .catch((error: unknown) => error);
  await placed.promise;
  const asked = Promise.all([claimWith(given, second), claimWith(given, second)]);
  await untilWaiting(world.db.database, 2);
  released.resolve();
  expect(await third).toMatchObject({ message: 'given up' });
  const answers = await asked;
  expect(answers).toMatchObject([inReview('already_bought'), inReview('already_bought')]);
  expect(new Set(answers.map(idOf)).size).toBe(1);
});

const named = async ({ intent }: DirectCase): Promise<bigint> =>
  (
    await world.db.database.one<{ count: bigint }>(sql`select count(*) as count from claim_hashes h
      join payments p on p.id = h.payment_id where p.intent_id = ${Buffer.from(intent.id, 'hex')}`)
  ).count;

describe('transactions that are named for an intent that is paid', () => {
  it('are stored only after the signature of the wallet that paid', async () => {
    const { given, first } = await paidTwice();
    const forged = await signChallenge(await trade.wallet(), { challenge: 'another text' });
    for (let index = 0; index < 10; index += 1) {
      // An invalid key signature may be a contract's, which can be checked only once the transfer is final.
      expect((await claimWith(given, someHash(), `0x${'11'.repeat(65)}`)).status).toBe(202);
      // Anyone can sign with some key. If that wallet did not pay, no row is stored and the goods stay the buyer's.
      expect((await claimWith(given, someHash(), forged)).status).toBe(200);
    }
    expect(await named(given)).toBe(1n);
    // A decided transaction gets its answer whatever the signature, even while no wallet can be asked.
    expect((await claimWith(given, first, `0x${'11'.repeat(65)}`)).status).toBe(200);
  });

  it('are forgotten once they are many and refused', async () => {
    const { given } = await paidTwice();
    const strays: Hex[] = [];
    for (let index = 0; index < 24; index += 1)
      strays.push(await transfer(world, WORLD_ACCOUNTS.stranger, WORLD_ACCOUNTS.buyerOne.address, 0n));
    await finalize();
    for (const stray of strays) expect((await claimWith(given, stray)).status).toBe(200);
    expect(await named(given)).toBeLessThanOrEqual(21n);
  });
});

describe('a second transfer for an intent that is paid', () => {
  it('is reviewed when it is claimed, and given back; the goods stay the buyer’s all the while', async () => {
    const { given, first, second } = await paidTwice();
    // The goods are bought, and the second transfer is not final yet.
    expect(await claimWith(given, second)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
    expect(await reviewsOf(given)).toEqual([]);
    await finalize();
    const review = await claimWith(given, second);
    expect(review).toMatchObject(inReview('already_bought'));
    expect(JSON.stringify(review.body)).not.toContain(given.artifact);
    expect(await claimWith(given, second)).toMatchObject(inReview('already_bought'));
    expect((await claimWith(given, first)).status).toBe(200);
    expect(await statusOf(given)).toMatchObject({ payment_status: 'completed', tx_hash: first });
    const shown = { id: idOf(review), payment_status: 'needs_review', outcome: 'already_bought', tx_hash: second };
    expect(await statusBy(world, { tx_hash: second })).toMatchObject(shown);
    expect(await reviewsOf(given)).toEqual([['already_bought', 2.500001]]);
    const tooLittle = await giveBack(given, PRICE);
    const refund = (txHash: Hex) => decide(idOf(review), { outcome: 'refunded', tx_hash: txHash });
    expect((await refund(tooLittle)).status).toBe(422);
    expect((await refund(await giveBack(given, PRICE + 1n))).status).toBe(200);
    expect(await claimWith(given, second)).toMatchObject({
      status: 409,
      body: { reason: 'transaction_used', do_not_pay_again: true, detail: expect.stringContaining('is refunded') },
    });
    expect((await claimWith(given, first)).status).toBe(200);
    expect(await countOf(given.id)).toEqual({ payments: 2n, purchases: 1n });
  });

  it('that the seller keeps with the buyer’s consent sells nothing twice', async () => {
    const { given, second } = await paidTwice();
    await finalize();
    const review = await claimWith(given, second);
    expect((await decide(idOf(review), { outcome: 'deliver' })).status).toBe(200);
    expect(await claimWith(given, second)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
    expect(await countOf(given.id)).toEqual({ payments: 2n, purchases: 1n });
    const sales = await world.db.database.one(sql`
      select count(*) as sales from events where kind = 'sale' and convert_from(canonical, 'utf8') like ${`%"listing_id":${given.id},%`}`);
    expect(sales).toEqual({ sales: 1n });
  });

  it('that was named before the first was final is followed by the pass, also when its client goes away', async () => {
    const given = await begin();
    const first = await pay(given);
    await world.chain.mine(8);
    const second = await pay(given);
    for (const hash of [second, first]) expect((await claimWith(given, hash)).status).toBe(202);
    // Only the first transfer is final.
    await world.chain.mine(8);
    await pass();
    expect(await statusOf(given)).toMatchObject({ payment_status: 'completed', tx_hash: first });
    expect(await reviewsOf(given)).toEqual([]);
    await finalize();
    await pass();
    expect(await reviewsOf(given)).toEqual([['already_bought', 2.5]]);
    expect(await claimWith(given, second)).toMatchObject(inReview('already_bought'));
    expect(await hashesOf(given)).toEqual([second, first]);
  });

  it('and what is named and never comes ends with the window, unnoticed by the buyer', async () => {
    const { given, first } = await paidTwice();
    const never = someHash();
    expect((await claimWith(given, never)).status).toBe(200);
    await time.moveTo(world, secondOf(given.intent.expires_at));
    await finalize();
    await pass();
    expect(await hashesOf(given)).toEqual([first]);
    expect(await claimWith(given, never)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
  });

  it('claimed by ten at once is one review', async () => {
    const { given, second } = await paidTwice();
    await finalize();
    const answers = await Promise.all(Array.from({ length: 10 }, () => claimWith(given, second)));
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(422));
    expect(new Set(answers.map(idOf)).size).toBe(1);
    expect(await countOf(given.id)).toEqual({ payments: 2n, purchases: 1n });
  });

  it('is left to another claim of that wallet that names it as well', async () => {
    const given = await begin();
    const other = await begin({ payer: given.payer });
    const first = await pay(given);
    const second = await pay(other);
    for (const hash of [first, second]) expect((await claimWith(given, hash)).status).toBe(202);
    expect((await claimWith(other, second)).status).toBe(202);
    await finalize();
    expect((await claimWith(given, first)).status).toBe(200);
    expect(await reviewsOf(given)).toEqual([]);
    expect(await claimWith(other, second)).toMatchObject({ status: 200, body: { artifact: other.artifact } });
    await pass();
    expect(await reviewsOf(given)).toEqual([]);
    expect((await claimWith(given, second)).status).toBe(200);
  });

  it('in a transaction that has paid for other goods meanwhile is no payment of its own', async () => {
    const given = await begin();
    const other = await begin({ payer: given.payer });
    const first = await pay(given);
    await finalize();
    expect((await claimWith(given, first)).status).toBe(200);
    const to = given.intent.seller_wallet;
    const both = await transferTogether(
      world,
      given.payer,
      [PRICE, PRICE].map((units) => ({ to, units })),
    );
    // Claim the transaction for the listing that is already paid, then for the other listing, for which it can pay.
    expect((await claimWith(given, both)).status).toBe(200);
    expect((await claimWith(other, both)).status).toBe(202);
    expect(await hashesOf(given)).toEqual([first, both]);
    await finalize();
    await pass();
    expect(await claimWith(other, both)).toMatchObject({ status: 200, body: { artifact: other.artifact } });
    expect(await hashesOf(given)).toEqual([first]);
    expect(await reviewsOf(given)).toEqual([]);
    expect(await countOf(given.id)).toEqual({ payments: 1n, purchases: 1n });
  });

  it('of another wallet, or by no known transfer, makes no record', async () => {
    const { given } = await paidTwice();
    const other = await trade.wallet(PRICE, GAS_WEI);
    const byOther = await transfer(world, other, given.intent.seller_wallet, PRICE);
    await finalize();
    for (const hash of [byOther, someHash()]) expect((await claimWith(given, hash)).status).toBe(200);
    await pass();
    expect(await reviewsOf(given)).toEqual([]);
  });
});

describe('of several transfers that a person has to decide on', () => {
  async function twoReviews() {
    const given = await begin();
    const little = await pay(given, 1n);
    await time.moveTo(world, secondOf(given.intent.expires_at));
    const late = await pay(given);
    await world.chain.mine();
    for (const hash of [little, late]) expect((await claimWith(given, hash)).status).toBe(202);
    await finalize();
    return { given, little, late };
  }

  it('each has a record: the one that is enough stands for the claim, the other is surplus', async () => {
    const { given, little, late } = await twoReviews();
    await pass();
    expect(await claimWith(given, late)).toMatchObject(inReview('outside_window'));
    expect(await claimWith(given, little)).toMatchObject(inReview('amount_too_little'));
    expect((await reviewsOf(given)).toSorted()).toEqual([
      ['amount_too_little', 0.000001],
      ['outside_window', 2.5],
    ]);
    expect(await statusOf(given)).toMatchObject({ payment_status: 'needs_review', tx_hash: late });
  });

  it('the surplus one can be taken as paid once the goods are the buyer’s, and not before', async () => {
    const { given, little, late } = await twoReviews();
    const [main, surplus] = [idOf(await claimWith(given, late)), idOf(await claimWith(given, little))];
    expect(await decide(surplus, { outcome: 'deliver' })).toMatchObject({
      status: 409,
      body: { reason: 'not_deliverable' },
    });
    expect((await decide(main, { outcome: 'deliver' })).status).toBe(200);
    expect((await decide(surplus, { outcome: 'deliver' })).status).toBe(200);
    for (const hash of [little, late]) expect((await claimWith(given, hash)).status).toBe(200);
    expect(await countOf(given.id)).toEqual({ payments: 2n, purchases: 1n });
  });

  it('the surplus one stays to be decided on when the other is declined, and the buyer may buy again', async () => {
    const { given, little, late } = await twoReviews();
    const [main, surplus] = [idOf(await claimWith(given, late)), idOf(await claimWith(given, little))];
    expect((await decide(main, { outcome: 'declined' })).status).toBe(200);
    expect(await claimWith(given, late)).toMatchObject({ status: 409, body: { reason: 'transaction_used' } });
    expect(await claimWith(given, little)).toMatchObject(inReview('amount_too_little'));
    await time.moveOn(world, 1);
    const intent = await openIntent(world, given.member, given.id);
    const newClaim = { ...given, intent, signature: await signChallenge(given.payer, intent) };
    const paid = await pay(newClaim);
    await finalize();
    expect((await claimWith(newClaim, paid)).status).toBe(200);
    const back = await giveBack(given, 1n);
    expect((await decide(surplus, { outcome: 'refunded', tx_hash: back })).status).toBe(200);
    expect(await countOf(given.id)).toEqual({ payments: 3n, purchases: 1n });
  });
});

it('a full transfer that is named while a review waits is no part of it, and pays once that is declined', async () => {
  const given = await begin();
  const little = await pay(given, 1n);
  const full = await pay(given);
  await finalize();
  const review = await claimWith(given, little);
  expect(review).toMatchObject(inReview('amount_too_little'));
  expect(await claimWith(given, full)).toMatchObject(inReview('amount_too_little'));
  await pass();
  expect(await reviewsOf(given)).toEqual([['amount_too_little', 0.000001]]);
  expect(await hashesOf(given)).not.toContain(full);
  expect((await decide(idOf(review), { outcome: 'declined' })).status).toBe(200);
  expect(await claimWith(given, full)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
  expect(await countOf(given.id)).toEqual({ payments: 2n, purchases: 1n });
});

it('no surplus row may be of another wallet, open, or for an undecided claim', async () => {
  const { given } = await paidTwice();
  const open = await begin();
  expect((await claimWith(open, someHash())).status).toBe(202);
  const { database } = world.db;
  const insertSurplusRow = (intentId: string, payer: Hex, then: string) =>
    database.transaction(async (tx) => {
      const { id } = await tx.one<{ id: bigint }>(sql`
        insert into payments (purpose, path, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer,
          value_units, intent_id, window_from, window_to, surplus, beside, settling_at, created_at, updated_at)
        select purpose, path, 'settling', listing_id, merchant_id, body_hash, chain_id, asset, payee, ${toBytes(payer)},
          value_units, intent_id, window_from, window_to, true, id, now(), now(), now()
        from payments where intent_id = ${Buffer.from(intentId, 'hex')} and beside is null returning id`);
      if (then === 'unpaid')
        await tx.run(sql`update payments set status = 'unpaid', end_reason = 'x', ended_at = now() where id = ${id}`);
    });
  const cases: [DirectCase, Hex, string][] = [
    [given, given.payer.address, 'open'],
    [given, open.payer.address, 'unpaid'],
    [open, open.payer.address, 'unpaid'],
  ];
  for (const [{ intent }, payer, then] of cases) {
    await expect(insertSurplusRow(intent.id, payer, then)).rejects.toThrow(/stands beside no decided claim/);
  }
  const change = sql`update payments set beside = id where intent_id = ${Buffer.from(open.intent.id, 'hex')}`;
  await expect(database.run(change)).rejects.toThrow();
});

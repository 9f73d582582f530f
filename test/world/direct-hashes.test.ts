import sql from 'sql-template-tag';
import { keccak256 } from 'viem';
import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { findPayment } from '../../src/market/payments/store.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { createWorldTime, secondOf, signChallenge, transfer } from '../support/direct.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';
import { directCases, someHash } from './direct-cases.ts';

const time = createWorldTime();
const trade = testTrade({ clock: time.clock, chain: { finalityBlocks: 16 } });
const { world } = trade;
const { stranger } = WORLD_ACCOUNTS;
const { begin, pay, signTransfer, claimWith, statusOf, hashesOf } = directCases(trade);

const finalize = (): Promise<void> => world.chain.mine(18);

const refused = (status: number, reason: string, again = true) => ({
  status,
  body: { reason, do_not_pay_again: again },
});

describe('the transactions that a claim names', () => {
  it('are five at most: a sixth takes the place of the oldest that has no receipt, and none is named twice', async () => {
    const given = await begin();
    const seen = await pay(given, 1n);
    const names = [seen, ...Array.from({ length: 4 }, someHash)];
    for (const hash of names) expect((await claimWith(given, hash)).status).toBe(202);
    expect((await claimWith(given, seen)).status).toBe(202);
    expect(await hashesOf(given)).toEqual(names);
    const sixth = someHash();
    expect((await claimWith(given, sixth)).status).toBe(202);
    expect(await hashesOf(given)).toEqual([seen, ...names.slice(2), sixth]);
    // A hash that was displaced counts as new when claimed again, and displaces the next one.
    expect((await claimWith(given, names[1] as Hex)).status).toBe(202);
    expect(await hashesOf(given)).toEqual([seen, ...names.slice(3), sixth, names[1]]);
  });

  it('make no room while all five are seen, also a final one that waits for the others', async () => {
    const given = await begin();
    const tooLittle = await pay(given, 1n);
    await finalize();
    const later = [await pay(given, 2n), await pay(given, 3n), await pay(given, 4n)];
    const last = someHash();
    for (const hash of [last, tooLittle, ...later]) expect((await claimWith(given, hash)).status).toBe(202);
    const six = someHash();
    expect((await claimWith(given, six)).status).toBe(202);
    expect(await hashesOf(given)).toEqual([tooLittle, ...later, six]);
    const fitting = await pay(given);
    expect((await claimWith(given, fitting)).status).toBe(202);
    expect(await claimWith(given, someHash())).toMatchObject(refused(409, 'payment_undecided'));
    expect(await hashesOf(given)).toEqual([tooLittle, ...later, fitting]);
    // A transfer that fits takes precedence over earlier ones that do not.
    await finalize();
    expect(await claimWith(given, fitting)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
  });

  it('are refused one by one: 409 and 422 free the slot, and the others stay', async () => {
    const given = await begin();
    const other = await begin();
    const used = await pay(other);
    const wrong = await transfer(world, stranger, given.intent.seller_wallet, PRICE);
    await finalize();
    expect((await claimWith(other, used)).status).toBe(200);
    const pending = someHash();
    expect((await claimWith(given, pending)).status).toBe(202);
    // The refusals do not say that paying again is safe while another transaction may still be the payment.
    expect(await claimWith(given, used)).toMatchObject(refused(409, 'transaction_used'));
    expect(await claimWith(given, wrong)).toMatchObject(refused(422, 'wrong_payer'));
    const failed = await transfer(world, given.payer, given.intent.seller_wallet, 10_000n * PRICE);
    await finalize();
    expect(await claimWith(given, failed)).toMatchObject(refused(422, 'transfer_not_found'));
    expect(await hashesOf(given)).toEqual([pending]);
    const fitting = await pay(given);
    await finalize();
    expect((await claimWith(given, fitting)).status).toBe(200);
    expect(await claimWith(given, pending)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
  });

  it('without a receipt end the claim once the window is final; a later one is claimed again, and reviewed', async () => {
    const given = await begin();
    const { signature, intent } = given;
    const raw = await signTransfer(given, intent.seller_wallet, PRICE);
    const txHash = keccak256(raw);
    expect((await claimWith(given, txHash)).status).toBe(202);
    await time.moveTo(world, secondOf(intent.expires_at) - 1);
    await finalize();
    expect((await claimWith(given, txHash)).status).toBe(202);
    await time.moveTo(world, secondOf(intent.expires_at));
    expect((await claimWith(given, txHash)).status).toBe(202);
    await finalize();
    expect(await claimWith(given, txHash, signature)).toMatchObject(refused(422, 'transfer_not_found', false));
    expect(await statusOf(given)).toMatchObject({ payment_status: 'unpaid', outcome: 'transfer_not_found' });
    await world.chain.rpc.call('eth_sendRawTransaction', [raw]);
    await finalize();
    expect(await claimWith(given, txHash)).toMatchObject({
      status: 422,
      body: { reason: 'outside_window', payment_status: 'needs_review', do_not_pay_again: true },
    });
  });

  it('that were dropped from a node and are in the window after all are claimed again, and pay', async () => {
    const given = await begin();
    const txHash = await pay(given);
    expect((await claimWith(given, someHash())).status).toBe(202);
    await time.moveTo(world, secondOf(given.intent.expires_at) + 5);
    await finalize();
    await world.running.payments.reconcileOnce();
    expect(await statusOf(given)).toMatchObject({ payment_status: 'unpaid' });
    expect(await claimWith(given, txHash)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
  });

  it('that another request ended meanwhile are not called undecided by a request that read the claim before', async () => {
    const given = await begin();
    const txHash = someHash();
    expect((await claimWith(given, txHash)).status).toBe(202);
    const { database } = world.db;
    const { payment_id: id } = await database.one<{ payment_id: bigint }>(
      sql`select payment_id from claim_hashes where tx_hash = ${toBytes(txHash)}`,
    );
    const readBefore = await findPayment(database, id);
    if (readBefore === null) throw new Error('the claim has no payment');
    await time.moveTo(world, secondOf(given.intent.expires_at) + 5);
    await finalize();
    for (const _request of ['the one that ends it', 'the one that comes too late']) {
      expect(await world.running.payments.readAndDecide(readBefore)).toMatchObject({ status: 'unpaid' });
    }
  });

  it('stay noted where one is in a block, while the pass looks only at the others', async () => {
    const given = await begin();
    expect((await claimWith(given, someHash())).status).toBe(202);
    const txHash = await pay(given);
    expect((await claimWith(given, txHash)).status).toBe(202);
    for (let pass = 0; pass < 11; pass += 1) {
      await world.running.payments.reconcileOnce();
      expect(await statusOf(given)).toMatchObject({ tx_hash: txHash, stage: 'mined' });
    }
  });
});

describe('the wallet of a claim', () => {
  it('is the wallet that signed last, until a transfer of one is final', async () => {
    const given = await begin();
    const { intent } = given;
    const other = await trade.wallet(PRICE, GAS_WEI);
    const byOther = await signChallenge(other, intent);
    const pending = someHash();
    expect((await claimWith(given, pending)).status).toBe(202);
    expect((await claimWith(given, pending, byOther)).status).toBe(202);
    const txHash = await transfer(world, other, intent.seller_wallet, PRICE);
    expect((await claimWith(given, txHash, byOther)).status).toBe(202);
    await finalize();
    // The first wallet signs again, but too late, because the other wallet has paid.
    expect(await claimWith(given, pending)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
    const bought = await world.db.database.one(sql`select payer from purchases where listing_id = ${given.id}`);
    expect(bought).toEqual({ payer: toBytes(other.address) });
  });

  it('stays bound by a final transfer that only waits for others, until that is decided', async () => {
    const given = await begin();
    const tooLittle = await pay(given, 1n);
    await finalize();
    expect((await claimWith(given, someHash())).status).toBe(202);
    expect((await claimWith(given, tooLittle)).status).toBe(202);
    const other = await trade.wallet(PRICE, GAS_WEI);
    const byOther = await signChallenge(other, given.intent);
    expect(await claimWith(given, someHash(), byOther)).toMatchObject(refused(409, 'payment_undecided'));
    await time.moveTo(world, secondOf(given.intent.expires_at));
    await finalize();
    expect(await claimWith(given, tooLittle)).toMatchObject({ status: 422, body: { reason: 'amount_too_little' } });
  });

  it('is not exchanged for one that has the goods already, nor the other way round', async () => {
    const goods = await trade.goods();
    const owner = await begin({ member: await world.join('buyer-owner'), goods });
    const bought = await pay(owner);
    await finalize();
    expect((await claimWith(owner, bought)).status).toBe(200);
    // Claim goods that this merchant has not bought, with a new wallet.
    const given = await begin({ goods });
    const pending = someHash();
    expect((await claimWith(given, pending)).status).toBe(202);
    const byOwner = await signChallenge(owner.payer, given.intent);
    expect(await claimWith(given, pending, byOwner)).toMatchObject({
      status: 409,
      body: { reason: 'payment_undecided', intent_id: given.intent.id },
    });
    const third = await begin({ member: await world.join('buyer-third'), goods });
    expect((await claimWith(third, pending, await signChallenge(owner.payer, third.intent))).status).toBe(202);
    expect(await claimWith(third, pending)).toMatchObject({ body: { reason: 'payment_undecided' } });
    const txHash = await pay(third);
    await time.moveTo(world, secondOf(third.intent.expires_at));
    await finalize();
    expect((await claimWith(third, pending)).status).toBe(422);
    expect((await claimWith(third, txHash)).status).toBe(200);
  });

  it('of two claims exchanged at once locks neither buyer out', async () => {
    const goods = await trade.goods();
    const one = await begin({ member: await world.join('swapper-one'), goods });
    const two = await begin({ member: await world.join('swapper-two'), goods });
    const hash = someHash();
    expect((await claimWith(one, hash)).status).toBe(202);
    expect((await claimWith(two, hash)).status).toBe(202);
    const crossed = [await signChallenge(two.payer, one.intent), await signChallenge(one.payer, two.intent)] as const;
    const answers = await Promise.all([claimWith(one, hash, crossed[0]), claimWith(two, hash, crossed[1])]);
    for (const answer of answers) {
      expect([409, 503]).toContain(answer.status);
      expect(answer.body['do_not_pay_again']).toBe(true);
    }
  });
});

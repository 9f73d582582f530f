import sql from 'sql-template-tag';
import { keccak256 } from 'viem';
import { describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { type Hex, toBytes } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { makeMerchantKey } from '../../src/platform/secrets.ts';
import { rawTransaction, reorg } from '../support/chain.ts';
import { createWorldTime, latestSecond, nextBlockAt, secondOf, statusBy, transfer } from '../support/direct.ts';
import { type Answer, paidUnits, signProof, TEST_PEPPER } from '../support/market-world.ts';
import { GAS_WEI, PRICE, testTrade } from '../support/trade.ts';
import { type DirectCase, directCases } from './direct-cases.ts';

const time = createWorldTime();
const trade = testTrade({ clock: time.clock, chain: { finalityBlocks: 8 } });
const { world, buyer, seller } = trade;
const { stranger } = WORLD_ACCOUNTS;

const finalize = (): Promise<void> => world.chain.mine(10);

const { begin, pay, signTransfer, claimWith, statusOf } = directCases(trade);
const withdraw = (id: bigint): Promise<Answer> => world.ask('DELETE', `/api/listing/${id}`, { key: seller.key });

let maintainerKey: string | null = null;

/** Removes a listing as the maintainer, at the market's current time. */
async function remove(id: bigint): Promise<Answer> {
  if (maintainerKey === null) {
    maintainerKey = makeMerchantKey(systemRandom, 'aisle');
    await world.db.database.run(
      sql`update merchant_keys set key_hash = ${TEST_PEPPER.hash(maintainerKey)} where merchant_id = 1`,
    );
  }
  const body = { listing_id: Number(id), reason_code: 'policy', reason: 'not allowed here' };
  return await world.ask('POST', '/api/mod/remove', { key: maintainerKey, body });
}

describe('a withdrawal', () => {
  it('takes nothing from an intent that was open before, signed or not; nothing opens afterwards', async () => {
    const before = await begin();
    const goods = { id: before.id, artifact: before.artifact, terms: before.terms };
    const pending = await begin({ member: await world.join('buyer-pending'), goods });
    const early = await pay(pending);
    expect((await claimWith(pending, early)).status).toBe(202);
    expect((await withdraw(before.id)).status).toBe(200);
    // Payment and claim come only after the listing ended.
    const late = await pay(before);
    expect((await claimWith(before, late)).status).toBe(202);
    await finalize();
    expect(await claimWith(before, late)).toMatchObject({ status: 200, body: { artifact: before.artifact } });
    expect(await claimWith(pending, early)).toMatchObject({ status: 200, body: { artifact: before.artifact } });
    // Much later, every kind of request still delivers the goods.
    expect((await claimWith(before, late)).status).toBe(200);
    expect((await world.buy(before.id, { key: buyer.key })).status).toBe(200);
    const other = await world.join('buyer-too-late');
    const path = `/api/purchase-intent/${before.id}`;
    expect(await world.ask('POST', path, { key: other.key, body: {} })).toMatchObject({
      status: 404,
      body: { reason: 'listing_unavailable' },
    });
  });
});

describe('a removal by the maintainer', () => {
  it.each<[string, number, number | null]>([
    ['in the second before the removal is delivered', 0, 200],
    ['in the second after the removal is reviewed, and never delivered by itself', 1, null],
  ])('a transfer whose block is %s', async (_what, later, status) => {
    const given = await begin();
    const second = (await latestSecond(world)) + 20;
    if (later === 0) {
      await nextBlockAt(world, second);
      const txHash = await pay(given);
      await time.moveTo(world, second);
      expect((await remove(given.id)).status).toBe(200);
      await finalize();
      expect(await claimWith(given, txHash)).toMatchObject({ status, body: { artifact: given.artifact } });
      expect((await world.buy(given.id, { key: buyer.key })).status).toBe(200);
      return;
    }
    await time.moveTo(world, second);
    expect((await remove(given.id)).status).toBe(200);
    const removedAt = Math.ceil(time.clock.now() / 1000);
    await nextBlockAt(world, removedAt + later);
    const txHash = await pay(given);
    await time.moveTo(world, removedAt + 10);
    await finalize();
    const review = await claimWith(given, txHash);
    expect(review).toMatchObject({
      status: 422,
      body: { reason: 'paid_after_removal', payment_status: 'needs_review', do_not_pay_again: true },
    });
    expect(JSON.stringify(review.body)).not.toContain(given.artifact);
  });

  it('between transfer and finality changes nothing for a block before it', async () => {
    const given = await begin();
    const txHash = await pay(given);
    expect((await claimWith(given, txHash)).status).toBe(202);
    await time.moveOn(world, 5);
    expect((await remove(given.id)).status).toBe(200);
    await finalize();
    await world.running.payments.reconcileOnce();
    expect(await statusOf(given)).toMatchObject({ payment_status: 'completed' });
    expect((await claimWith(given, txHash)).status).toBe(200);
  });
});

it('an edit waits for an accepted claim, and not for an intent', async () => {
  const given = await begin();
  const edit = (description: string) =>
    world.ask('PATCH', `/api/listing/${given.id}`, { key: seller.key, body: { description } });
  expect((await edit('While an intent is open')).status).toBe(200);
  const txHash = await transfer(world, given.payer, given.intent.seller_wallet, 1n);
  expect((await claimWith(given, txHash)).status).toBe(202);
  expect(await edit('While a claim is')).toMatchObject({ status: 409, body: { reason: 'purchase_pending' } });
  await finalize();
  expect(await claimWith(given, txHash)).toMatchObject({ status: 422, body: { reason: 'amount_too_little' } });
  expect((await edit('While it is reviewed')).status).toBe(200);
});

describe('goods that were paid by a transfer', () => {
  it('are collected again with the key, as bytes, and with a fresh signature of the payer that is never settled', async () => {
    const given = await begin();
    const txHash = await pay(given);
    await finalize();
    expect((await claimWith(given, txHash)).status).toBe(200);
    const sign = () => signProof(world.chain, given.payer, given.terms);
    const byKey = await world.buy(given.id, { key: buyer.key });
    const byWallet = await world.buy(given.id, { proof: (await sign()).v2, body: { collect: true } });
    // An authorization signed as a payment is not charged either.
    const asPayment = await world.buy(given.id, { proof: (await sign()).v1 });
    for (const answer of [byKey, byWallet, asPayment]) {
      expect(answer).toMatchObject({
        status: 200,
        body: { artifact: given.artifact, purchase: { verified_via: 'direct', tx_hash: txHash } },
      });
    }
    const strangers = await signProof(world.chain, stranger, given.terms);
    expect((await world.buy(given.id, { proof: strangers.v2, body: { collect: true } })).status).toBe(404);
    await finalize();
    expect(await paidUnits(world.chain, given.payer.address, given.terms.payTo)).toEqual([PRICE]);
    const raw = await fetch(`${world.url}/api/claim/${given.id}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${buyer.key}`,
        accept: 'application/octet-stream',
        'content-type': 'application/json',
      },
      body: JSON.stringify({ intent_id: given.intent.id, tx_hash: txHash, payer_signature: given.signature }),
    });
    expect([raw.status, await raw.text()]).toEqual([200, given.artifact]);
    const listed = await world.ask('GET', '/api/purchases', { key: buyer.key });
    const rows = (listed.body['purchases'] ?? []) as Record<string, unknown>[];
    expect(rows[0]).toMatchObject({ listing_id: Number(given.id), verified_via: 'direct', tx_hash: txHash });
  });

  it('while the claim is undecided, a payment by x402 is not settled: neither with the key nor by that payer', async () => {
    const given = await begin();
    const txHash = await pay(given);
    expect((await claimWith(given, txHash)).status).toBe(202);
    const fresh = await trade.wallet();
    const byKey = await signProof(world.chain, fresh, given.terms);
    const byPayer = await signProof(world.chain, given.payer, given.terms);
    for (const asked of [{ key: buyer.key, proof: byKey.v2 }, { proof: byPayer.v2 }, { key: buyer.key }]) {
      expect(await world.buy(given.id, asked)).toMatchObject({ status: 202, body: { do_not_pay_again: true } });
    }
    await finalize();
    expect((await world.buy(given.id, { key: buyer.key, proof: byKey.v2 })).status).toBe(200);
    expect(await paidUnits(world.chain, fresh.address, given.terms.payTo)).toEqual([]);
    expect(await paidUnits(world.chain, given.payer.address, given.terms.payTo)).toEqual([PRICE]);
  });
});

describe('GET /api/payment', () => {
  it('shows each state by intent, by transaction only what is proven, and never who bought or with what', async () => {
    const given = await begin();
    const shown: unknown[] = [];
    const look = async () => {
      const payment = await statusOf(given);
      shown.push(payment);
      return payment;
    };
    expect(await look()).toMatchObject({ payment_status: 'unsubmitted', stage: 'received', do_not_pay_again: false });
    const raw = await signTransfer(given, given.intent.seller_wallet, PRICE);
    const txHash = keccak256(raw);
    expect(await claimWith(given, txHash)).toMatchObject({
      status: 202,
      body: { status: 'payment_pending', retry: 'same_request', do_not_pay_again: true, estimate_seconds: null },
    });
    expect(await look()).toMatchObject({
      payment_status: 'payment_pending',
      stage: 'settling',
      tx_hash: null,
      do_not_pay_again: true,
    });
    const endsAt = Date.parse(String((await statusOf(given))['payment_ends_at']));
    expect(endsAt).toBeGreaterThanOrEqual(Date.parse(given.intent.expires_at));
    await world.chain.rpc.call('eth_sendRawTransaction', [raw]);
    await world.running.payments.reconcileOnce();
    expect(await look()).toMatchObject({
      payment_status: 'payment_pending',
      stage: 'mined',
      tx_hash: txHash,
      payment_ends_at: null,
    });
    expect(await statusBy(world, { tx_hash: txHash })).toMatchObject({ status: 404, reason: 'payment_not_found' });
    await finalize();
    await world.running.payments.reconcileOnce();
    const done = await look();
    expect(done).toMatchObject({
      id: expect.any(Number),
      purpose: 'purchase',
      payment_status: 'completed',
      stage: 'delivered',
      listing_id: Number(given.id),
      tx_hash: txHash,
      do_not_pay_again: true,
    });
    expect(await statusBy(world, { tx_hash: txHash })).toEqual(done);
    const text = JSON.stringify(shown);
    for (const hidden of [given.artifact, given.signature.slice(2, 60), buyer.handle, given.payer.address]) {
      expect(text.toLowerCase()).not.toContain(hidden.toLowerCase());
    }
  });

  it('shows a review, and how it ended, by both', async () => {
    const given = await begin();
    const txHash = await transfer(world, given.payer, given.intent.seller_wallet, 1n);
    await finalize();
    const review = await claimWith(given, txHash);
    const payment = review.body['payment'] as { id: number };
    const inReview = {
      id: payment.id,
      payment_status: 'needs_review',
      outcome: 'amount_too_little',
      stage: 'finalized',
    };
    expect(await statusOf(given)).toMatchObject(inReview);
    expect(await statusBy(world, { tx_hash: txHash })).toMatchObject(inReview);
    const decision = { key: seller.key, body: { outcome: 'declined' } };
    expect((await world.ask('POST', `/api/review/${payment.id}`, decision)).status).toBe(200);
    const ended = { payment_status: 'rejected', outcome: 'declined', do_not_pay_again: false };
    expect(await statusOf(given)).toMatchObject(ended);
    expect(await statusBy(world, { tx_hash: txHash })).toMatchObject(ended);
    // The buyer may open a new intent.
    const path = `/api/purchase-intent/${given.id}`;
    await time.moveOn(world, 0);
    expect((await world.ask('POST', path, { key: buyer.key, body: {} })).status).toBe(201);
  });
});

it('a storm of claims, passes, edits, a withdrawal and a removal ends with every transfer delivered, and no failure of ours', async () => {
  const goods = [await trade.goods(), await trade.goods(), await trade.goods()];
  const cases: DirectCase[] = [];
  for (let n = 0; n < 9; n += 1) {
    const wanted = goods[n % 3];
    cases.push(await begin({ member: await world.join(`buyer-storm-${n}`), ...(wanted ? { goods: wanted } : {}) }));
  }
  const hashes = await Promise.all(cases.map((given) => pay(given)));
  const claims = () =>
    cases.flatMap((given, n) => [claimWith(given, hashes[n] as Hex), claimWith(given, hashes[n] as Hex)]);
  const edits = () =>
    goods.map(({ id }, n) =>
      world.ask('PATCH', `/api/listing/${id}`, { key: seller.key, body: { preview: `a look ${n}` } }),
    );
  await time.moveOn(world, 1);
  const early = await Promise.all([...claims(), ...edits(), world.running.payments.reconcileOnce()]);
  await finalize();
  const [first, second] = goods;
  if (first === undefined || second === undefined) throw new Error('no goods');
  const late = await Promise.all([
    ...claims(),
    withdraw(first.id),
    remove(second.id),
    ...edits(),
    world.running.payments.reconcileOnce(),
  ]);
  for (const answer of [...early, ...late])
    if (answer) expect([200, 202, 409], JSON.stringify(answer.body)).toContain(answer.status);
  const ended = await Promise.all(cases.map((given, n) => claimWith(given, hashes[n] as Hex)));
  expect(ended.map(({ status }) => status)).toEqual(cases.map(() => 200));
  const sold = await world.db.database.one(
    sql`select count(*) as sold from purchases where listing_id = any (${goods.map(({ id }) => id.toString())}::bigint[])`,
  );
  expect(sold).toEqual({ sold: 9n });
});

describe('a reorganisation before finality', () => {
  /** Pays and claims in a block that is not final. Enough blocks lie below it that no reorg undoes the wallet's funding. */
  async function claimed(): Promise<{ given: DirectCase; txHash: Hex }> {
    const given = await begin();
    await world.chain.mine(3);
    const txHash = await pay(given);
    expect((await claimWith(given, txHash)).status).toBe(202);
    expect(await statusOf(given)).toMatchObject({ tx_hash: txHash, stage: 'mined' });
    return { given, txHash };
  }

  it('that drops the transfer delivers nothing and forgets the sighting; brought back in time, it is delivered', async () => {
    const { given, txHash } = await claimed();
    const raw = await rawTransaction(world.chain, txHash);
    await reorg(world.chain, 2);
    await world.running.payments.reconcileOnce();
    expect(await statusOf(given)).toMatchObject({ payment_status: 'payment_pending', tx_hash: null });
    await finalize();
    const gone = await claimWith(given, txHash);
    expect(gone).toMatchObject({ status: 202, body: { do_not_pay_again: true } });
    expect(JSON.stringify(gone.body)).not.toContain(given.artifact);
    await world.chain.rpc.call('eth_sendRawTransaction', [raw]);
    await finalize();
    expect(await claimWith(given, txHash)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
    expect(await paidUnits(world.chain, given.payer.address, given.terms.payTo)).toEqual([PRICE]);
  });

  it('that drops it for good ends the claim when the window is final', async () => {
    const { given, txHash } = await claimed();
    await reorg(world.chain, 2);
    await time.moveTo(world, secondOf(given.intent.expires_at));
    await finalize();
    expect(await claimWith(given, txHash)).toMatchObject({ status: 422, body: { reason: 'transfer_not_found' } });
    expect(await world.db.database.rows(sql`select from payment_proofs where tx_hash = ${toBytes(txHash)}`)).toEqual(
      [],
    );
  });

  it('that moves it to another block and another place in it is delivered once, as it stands in the end', async () => {
    const other = await trade.wallet(PRICE, GAS_WEI);
    const { given, txHash } = await claimed();
    const raw = await rawTransaction(world.chain, txHash);
    const before = await statusOf(given);
    // Another transfer comes first in the new block.
    await world.chain.mine(1);
    const otherRaw = await signTransfer({ payer: other }, stranger.address, 1n, 50_000_000_000n);
    await reorg(world.chain, 3, [
      [otherRaw, 2],
      [raw, 2],
    ]);
    await finalize();
    expect(await claimWith(given, txHash)).toMatchObject({ status: 200, body: { artifact: given.artifact } });
    const proof = await world.db.database.one<{ block_number: bigint; log_index: number }>(
      sql`select block_number, log_index from payment_proofs where tx_hash = ${toBytes(txHash)}`,
    );
    expect(Number(proof.block_number)).not.toBe(before['block_number']);
    expect(proof.log_index).toBe(1);
    const sold = await world.db.database.rows(sql`select from purchases where listing_id = ${given.id}`);
    expect(sold).toHaveLength(1);
  });

  it('below what was final: nothing opens, and nothing is delivered', async () => {
    const { given, txHash } = await claimed();
    const snapshot = await world.chain.rpc.call('evm_snapshot', []);
    await world.chain.mine(4);
    await world.running.payments.reconcileOnce();
    await world.chain.rpc.call('evm_revert', [snapshot]);
    await reorg(world.chain, 12);
    await world.chain.mine(40);
    const path = `/api/purchase-intent/${(await trade.goods()).id}`;
    await time.moveOn(world, 0);
    expect(await world.ask('POST', path, { key: buyer.key, body: {} })).toMatchObject({
      status: 503,
      body: { reason: 'payment_check_unavailable', do_not_pay_again: false },
    });
    expect((await claimWith(given, txHash)).status).toBe(202);
  });
});

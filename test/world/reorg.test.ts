import sql from 'sql-template-tag';
import { describe, expect, it } from 'vitest';
import { isHex, toBytes } from '../../src/platform/hex.ts';
import { rawTransaction, reorg } from '../support/chain.ts';
import { paidUnits, signProof } from '../support/market-world.ts';
import { PRICE, testTrade } from '../support/trade.ts';

const { world, buyer, goods, wallet, statusOf } = testTrade({ chain: { finalityBlocks: 8 } });

/** Pays for goods in a block that is mined but not final. */
async function paidForGoods() {
  const payer = await wallet();
  // Enough blocks lie below that no reorg undoes the funding.
  await world.chain.mine(3);
  const listing = await goods();
  const proof = await signProof(world.chain, payer, listing.terms);
  const answer = await world.buy(listing.id, { key: buyer.key, proof: proof.v2 });
  expect(answer.status).toBe(202);
  const hash = (await statusOf(proof))['tx_hash'];
  if (!isHex(hash, 32)) throw new Error('the transfer was not seen');
  return { ...listing, payer, proof, hash };
}

async function deliveriesOf(listingId: bigint): Promise<number> {
  const rows = await world.db.database.rows(sql`select id from purchases where listing_id = ${listingId}`);
  return rows.length;
}

describe('a reorganisation before finality', () => {
  it('that drops the transfer delivers nothing, and says that it is no longer seen', async () => {
    const { id, artifact, proof, hash } = await paidForGoods();
    await reorg(world.chain, 2);
    await world.running.payments.reconcileOnce();
    expect(await statusOf(proof)).toMatchObject({
      payment_status: 'payment_pending',
      tx_hash: null,
      stage: 'settling',
    });
    const answer = await world.buy(id, { key: buyer.key });
    expect([answer.status, answer.body['do_not_pay_again']]).toEqual([503, true]);
    await world.finalize();
    await world.finalize();
    await world.running.payments.reconcileOnce();
    const later = await world.buy(id, { key: buyer.key });
    expect(later.status).toBe(503);
    expect(JSON.stringify(later.body)).not.toContain(artifact);
    expect(await deliveriesOf(id)).toBe(0);
    const proofs = await world.db.database.rows(sql`select * from payment_proofs where tx_hash = ${toBytes(hash)}`);
    expect(proofs).toEqual([]);
  });

  it('that drops it: the same proof, sent again, pays after all, once', async () => {
    const { id, artifact, payer, proof, terms } = await paidForGoods();
    await reorg(world.chain, 2);
    expect(await paidUnits(world.chain, payer.address, terms.payTo)).toEqual([]);
    // The facilitator knows the dropped transaction and sends the same one again.
    await expect
      .poll(async () => (await world.buy(id, { key: buyer.key, proof: proof.v2 })).status, { timeout: 20_000 })
      .toBe(202);
    await world.finalize();
    await world.finalize();
    const delivered = await world.buy(id, { key: buyer.key });
    expect([delivered.status, delivered.body['artifact']]).toEqual([200, artifact]);
    expect(await paidUnits(world.chain, payer.address, terms.payTo)).toEqual([PRICE]);
    expect(await deliveriesOf(id)).toBe(1);
  });

  it.each([1, 2, 3])(
    'that moves the transfer to another block delivers once, at its new place (%i deep)',
    async (depth) => {
      const { id, artifact, proof, hash } = await paidForGoods();
      const before = await statusOf(proof);
      const raw = await rawTransaction(world.chain, hash);
      await world.chain.mine(depth - 1);
      await reorg(world.chain, depth, [[raw, depth - 1]]);
      await world.finalize();
      await world.finalize();
      await world.running.payments.reconcileOnce();
      const after = await statusOf(proof);
      expect(after).toMatchObject({ payment_status: 'completed', tx_hash: hash });
      if (depth > 1) expect(after['block_number']).not.toBe(before['block_number']);
      const delivered = await world.buy(id, { key: buyer.key });
      expect([delivered.status, delivered.body['artifact']]).toEqual([200, artifact]);
      expect(await deliveriesOf(id)).toBe(1);
    },
  );
});

it('a chain rewritten below the watermark decides nothing, and no payment begins on it', async () => {
  const { payer, proof } = await paidForGoods();
  const snapshot = await world.chain.rpc.call('evm_snapshot', []);
  await world.finalize();
  // Reading a payment that is still too young makes this fork's finalized head the watermark.
  const watcher = await paidForGoods();
  await world.running.payments.reconcileOnce();
  await world.chain.rpc.call('evm_revert', [snapshot]);
  await world.chain.mine(40);
  const before = await deliveriesOf(watcher.id);
  await world.running.payments.reconcileOnce();
  expect(await deliveriesOf(watcher.id)).toBe(before);
  expect(await statusOf(proof)).toMatchObject({ do_not_pay_again: true });
  expect(world.logLines.map((line) => line.event)).toContain('chain_head_refused');
  const other = await goods();
  const fresh = await signProof(world.chain, payer, other.terms);
  const refused = await world.buy(other.id, { key: buyer.key, proof: fresh.v2 });
  expect([refused.status, refused.body['reason'], refused.body['do_not_pay_again']]).toEqual([
    503,
    'payment_check_unavailable',
    false,
  ]);
  expect((await world.ask('GET', '/readyz')).body).toMatchObject({ payments: 'halted', why: 'watermark_contradicted' });
});

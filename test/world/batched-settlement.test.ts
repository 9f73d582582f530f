import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { toBytes } from '../../src/platform/hex.ts';
import { settleData, signAuthorization } from '../support/chain.ts';
import {
  BASE_URL,
  type Member,
  paidUnits,
  type SignedProof,
  signProof,
  startWorld,
  type World,
} from '../support/market-world.ts';
import { startScriptedFacilitator } from '../support/scripted-facilitator.ts';
import { seedListing } from '../support/seed.ts';
import { fundedWallet } from '../support/trade.ts';
import { sendBatch } from './batch-transaction.ts';

const { sellerOne, stranger } = WORLD_ACCOUNTS;
const PRICE = 2_500_000n;
const facilitator = await startScriptedFacilitator();
let world: World;
let seller: Member;

beforeAll(async () => {
  world = await startWorld({ facilitatorUrl: facilitator.url });
  facilitator.script({ verify: 'valid', settle: 'garbage' });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
});
afterAll(async () => {
  await world?.stop();
  await facilitator.close();
});

async function openPurchase(buyer: Member) {
  const given = { wallet: sellerOne.address, priceUnits: PRICE, artifact: `batched goods of ${buyer.handle}` };
  const { id } = await seedListing(world.db.database, seller.id, given);
  const terms = { payTo: sellerOne.address, units: PRICE, resource: `${BASE_URL}/api/buy/${id}` };
  const payer = await fundedWallet(world);
  const proof = await signProof(world.chain, payer, terms);
  expect((await world.buy(id, { key: buyer.key, proof: proof.v2 })).status).toBe(503);
  return { id, terms, payer, proof, buyer };
}

async function statusOf({ authorization }: SignedProof): Promise<unknown> {
  const { from, nonce } = authorization;
  const answer = await world.ask('GET', `/api/payment?payer=${from}&nonce=${nonce}`);
  return (answer.body['payment'] as Record<string, unknown>)['payment_status'];
}

it('of two payments in one transaction one is completed, the other is for review, and neither is asked to pay again', async () => {
  const one = await openPurchase(await world.join('buyer-one'));
  const two = await openPurchase(await world.join('buyer-two'));
  const calls = [one, two].map(({ proof }) => settleData(proof.authorization, proof.signature));
  await sendBatch(world, stranger, calls);
  await world.finalize();
  await world.running.payments.reconcileOnce();
  expect([await statusOf(one.proof), await statusOf(two.proof)].sort()).toEqual(['completed', 'needs_review']);
  const [winner, loser] = (await statusOf(one.proof)) === 'completed' ? [one, two] : [two, one];
  expect((await world.buy(winner.id, { key: winner.buyer.key })).status).toBe(200);
  const fresh = await signProof(world.chain, loser.payer, loser.terms);
  const key = loser.buyer.key;
  const ways = [
    { key },
    { key, proof: fresh.v2 },
    { proof: fresh.v1 },
    { proof: loser.proof.v1 },
    { key, body: { collect: true } },
  ];
  for (const way of ways) {
    const { status, body } = await world.buy(loser.id, way);
    expect([status, body['reason'], body['do_not_pay_again']]).toEqual([422, 'needs_review', true]);
  }
  expect(await paidUnits(world.chain, loser.payer.address, sellerOne.address)).toEqual([PRICE]);
});

/** Puts a payment in review the way older versions did, without recording which transfer belongs to it. */
async function inReviewAsBefore({ proof }: { proof: SignedProof }, txHash: `0x${string}`): Promise<number> {
  const { id } = await world.db.database.one<{ id: bigint }>(
    sql`select id from payments where nonce = ${toBytes(proof.authorization.nonce)}`,
  );
  await world.db.database.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(sql`update payments set status = 'needs_review', end_reason = 'transaction_used', log_index = null,
      tx_hash = ${toBytes(txHash)}, block_number = 1, block_time = now(), ended_at = now() where id = ${id}`);
  });
  return Number(id);
}

const decide = (id: number, outcome: string) =>
  world.ask('POST', `/api/review/${id}`, { key: seller.key, body: { outcome } });

async function received(id: number): Promise<unknown> {
  const { body } = await world.ask('GET', '/api/me', { key: seller.key });
  return (body['reviews'] as Record<string, unknown>[]).find((one) => one['payment_id'] === id)?.['received_usdc'];
}

it('a review from before is delivered on only where the chain shows a transfer of its own', async () => {
  const [one, two, three] = [
    await openPurchase(await world.join('buyer-three')),
    await openPurchase(await world.join('buyer-four')),
    await openPurchase(await world.join('buyer-five')),
  ];
  const nothing = { ...three.proof.authorization, to: three.payer.address, value: 0n };
  const txHash = await sendBatch(world, stranger, [
    ...[one, two].map(({ proof }) => settleData(proof.authorization, proof.signature)),
    settleData(nothing, await signAuthorization(world.chain, three.payer, nothing)),
  ]);
  const [honest, greedy] = [await inReviewAsBefore(two, txHash), await inReviewAsBefore(three, txHash)];
  await world.finalize();
  await world.running.payments.reconcileOnce();
  expect([await received(honest), await received(greedy)]).toEqual([0, 0]);
  expect((await decide(honest, 'deliver')).status).toBe(200);
  expect((await decide(greedy, 'deliver')).body['reason']).toBe('not_deliverable');
  expect((await decide(greedy, 'declined')).status).toBe(200);
  const log = sql`select log_index from payments where id = ${honest}`;
  expect(await world.db.database.one(log)).toEqual({ log_index: expect.any(Number) });
});

it('a transfer that earlier code gave to another payment is not shown as received a second time', async () => {
  const one = await openPurchase(await world.join('buyer-seven'));
  const two = await openPurchase(await world.join('buyer-eight'));
  const calls = [one, two].map(({ proof }) => settleData(proof.authorization, proof.signature));
  const txHash = await sendBatch(world, stranger, calls);
  const id = await inReviewAsBefore(one, txHash);
  // Each authorization emits two logs, and the last log is the transfer of the second authorization.
  await world.db.database.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(sql`insert into payment_proofs
        (tx_hash, purpose, payment_id, block_number, block_hash, block_time, log_index, value_units, written_at)
      values (${toBytes(txHash)}, 'purchase', ${id}, 1, ${Buffer.alloc(32)}, now(), 3, ${PRICE}, now())`);
  });
  await world.finalize();
  await world.running.payments.reconcileOnce();
  expect(await statusOf(two.proof)).toBe('needs_review');
  const row = sql`select log_index from payments where nonce = ${toBytes(two.proof.authorization.nonce)}`;
  expect(await world.db.database.one(row)).toEqual({ log_index: null });
});

it('no second row of the books names a transfer that is named already', async () => {
  const rival = await openPurchase(await world.join('buyer-six'));
  const { tx_hash, log_index } = await world.db.database.one<{ tx_hash: Buffer; log_index: number }>(
    sql`select tx_hash, log_index from payment_proofs limit 1`,
  );
  const take = world.db.database.run(sql`update payments set status = 'needs_review', end_reason = 'transaction_used',
    tx_hash = ${tx_hash}, log_index = ${log_index}, block_number = 1, block_time = now(), ended_at = now()
    where nonce = ${toBytes(rival.proof.authorization.nonce)}`);
  await expect(take).rejects.toThrow('the transfer is what something else was paid with');
});

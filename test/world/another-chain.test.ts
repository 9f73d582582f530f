import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { NETWORKS } from '../../src/contract/vocabulary.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import type { Authorization } from '../../src/platform/chain/shapes.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { toBytes } from '../../src/platform/hex.ts';
import { usdcAdmin } from '../support/chain.ts';
import { createTestDatabase } from '../support/database.ts';
import { paidUnits, signProof } from '../support/market-world.ts';
import { seedListing, seedMerchant } from '../support/seed.ts';
import { seedFees } from '../support/seed-books.ts';
import { fundedWallet, GAS_WEI, listGoods, newGoods, PRICE, signFee, testTrade } from '../support/trade.ts';

// A market that used another network before, and still has its listings and payments from there.

const ANOTHER = 137n;
const { world, buyer, seller, goods, wallet } = testTrade();

/** Inserts a payment attempt as it was recorded on the old network. */
async function openBefore(listingId: bigint, { from, to, value, ...of }: Authorization): Promise<bigint> {
  const { id } = await world.db.database.one<{ id: bigint }>(sql`
    insert into payments (purpose, path, status, listing_id, chain_id, asset, payee, payer, value_units, nonce, valid_after,
      valid_before, opened_block, created_at, updated_at)
    values ('purchase', 'x402', 'verifying', ${listingId}, ${ANOTHER}, ${toBytes(NETWORKS.base.usdc)}, ${toBytes(to)},
      ${toBytes(from)}, ${value}, ${toBytes(of.nonce)}, ${of.validAfter}, ${of.validBefore}, 0, now(), now())
    returning id`);
  return id;
}

const paymentRow = (id: bigint) =>
  world.db.database.one<object>(sql`select status, tx_hash, ended_at, updated_at from payments where id = ${id}`);

it('a payment of another chain is neither submitted nor decided, whatever this chain shows', async () => {
  const { id, terms } = await goods();
  const payer = await wallet(PRICE, GAS_WEI);
  const proof = await signProof(world.chain, payer, terms);
  const payment = await openBefore(id, proof.authorization);
  const before = await paymentRow(payment);

  const answer = await world.buy(id, { proof: proof.v2 });
  expect([answer.status, answer.body['do_not_pay_again']]).toEqual([503, true]);
  expect(await paidUnits(world.chain, payer.address, terms.payTo)).toEqual([]);

  await usdcAdmin(world.chain).settleAuthorization(WORLD_ACCOUNTS.stranger, proof.authorization, proof.signature);
  await world.finalize();
  await world.running.payments.reconcileOnce();
  expect(await paymentRow(payment)).toEqual(before);
  expect(world.logLines.filter(({ event }) => event === 'payment_evidence_contradicts')).toEqual([]);
});

it('goods of a wallet on another chain are not sold, and nothing asks for a payment to it', async () => {
  const { id, terms } = await goods();
  await world.db.database.run(sql`update listings set chain_id = ${ANOTHER} where id = ${id}`);
  const payer = await wallet();
  const proof = await signProof(world.chain, payer, terms);
  for (const answer of [
    await world.buy(id),
    await world.buy(id, { proof: proof.v2 }),
    await world.ask('POST', `/api/purchase-intent/${id}`, { key: buyer.key, body: {} }),
  ]) {
    expect([answer.status, answer.body['reason']]).toEqual([404, 'listing_unavailable']);
  }
  expect(await paidUnits(world.chain, payer.address, terms.payTo)).toEqual([]);
  const moved = world.db.database.run(sql`update listings set chain_id = 8453 where id = ${id}`);
  await expect(moved).rejects.toMatchObject({ constraint: 'listing_terms_are_fixed' });
});

it('a listing of today names its chain', async () => {
  const body = newGoods();
  const proof = await signFee(world, await fundedWallet(world));
  expect((await listGoods(world, seller, body, { proof: proof.v2 })).status).toBe(202);
  await world.finalize();
  const { status, body: listed } = await listGoods(world, seller, body, { proof: proof.v2 });
  expect(status).toBe(201);
  const row = sql`select chain_id from listings where id = ${listed['listing_id'] as number}`;
  expect(await world.db.database.one(row)).toEqual({ chain_id: NETWORKS.base.chainId });
});

it.each([
  ['the only chain that was read', [ANOTHER], ANOTHER],
  ['none, where that is not clear', [ANOTHER, 8453n], null],
])('the upgrade names the chain of a fee, and without one %s', async (_name, read, expected) => {
  const db = await createTestDatabase({ migrated: false });
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-before-'));
  try {
    const before = (await readdir(MIGRATIONS)).filter((name) => name < '0018');
    for (const name of before) await cp(join(MIGRATIONS, name), join(folder, name));
    await migrate(db.url, folder);
    const { database } = db;
    const { id: merchant } = await seedMerchant(database);
    const at = new Date('2026-01-02T03:04:05Z');
    await seedFees(database, 1, { merchants: [merchant], from: at, to: at });
    const paid = await seedListing(database, merchant, { feeId: 1n });
    const free = await seedListing(database, merchant);
    for (const chain of read) {
      await database.run(sql`insert into chain_watermarks (chain_id, block_number, block_hash, block_time, accepted_at)
        values (${chain}, 15, ${Buffer.alloc(32)}, ${at}, ${at})`);
    }
    expect(await migrate(db.url, MIGRATIONS)).toContain('0018-chain-of-a-listing');
    expect(await database.rows(sql`select id, chain_id from listings order by id`)).toEqual([
      { id: paid.id, chain_id: 8453n },
      { id: free.id, chain_id: expected },
    ]);
  } finally {
    await rm(folder, { recursive: true });
    await db.drop();
  }
});

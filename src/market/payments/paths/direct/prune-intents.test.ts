import sql, { Sql } from 'sql-template-tag';
import { expect, test } from 'vitest';
import { testDatabase } from '../../../../../test/support/database.ts';
import { marketContext } from '../../../../../test/support/market-context.ts';
import { seedListing, seedMerchant } from '../../../../../test/support/seed.ts';
import { INTENT_RETENTION_DAYS, NETWORKS } from '../../../../contract/vocabulary.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { systemRandom } from '../../../../platform/random.ts';
import { pruneIntents } from './intents.ts';
import { type Intent, insertClaim, insertIntent, usableIntentQuery } from './store.ts';

const DAY_MS = 86_400_000;
const PAYER = `0x${'1'.repeat(40)}` as const;
const db = testDatabase();

async function intentOf(merchantId: bigint, listingId: bigint, ageDays: number): Promise<Intent> {
  const createdAt = new Date(Math.floor((systemClock.now() - ageDays * DAY_MS) / 1_000) * 1_000);
  const intent: Intent = {
    ...{ id: systemRandom.bytes(16).toString('hex'), nonce: systemRandom.bytes(16).toString('hex') },
    ...{ purpose: 'purchase', listingId, merchantId, chainId: 8453n, asset: NETWORKS.base.usdc },
    ...{ payee: `0x${'2'.repeat(40)}`, payer: PAYER, minimumUnits: 1n, exactUnits: null, challenge: 'as it was' },
    ...{ createdAt, expiresAt: new Date(createdAt.getTime() + 600_000) },
  };
  await db.database.transaction((tx) => insertIntent(tx, intent));
  return intent;
}
const left = async (): Promise<string[]> =>
  (await db.database.rows<{ id: Buffer }>(sql`select id from payment_intents`))
    .map(({ id }) => id.toString('hex'))
    .sort();

test('unclaimed intents are deleted a month after their window, claimed and younger ones stay', async () => {
  const market = marketContext({ database: db.database });
  const { id: buyer } = await seedMerchant(db.database, { handle: 'buyer' });
  const { id: seller } = await seedMerchant(db.database, { handle: 'seller' });
  const { id: listing } = await seedListing(db.database, seller, { wallet: `0x${'2'.repeat(40)}`, priceUnits: 1n });
  const young = await intentOf(buyer, listing, INTENT_RETENTION_DAYS - 1);
  const claimed = await intentOf(buyer, listing, 2 * INTENT_RETENTION_DAYS);
  const made = await db.database.transaction((tx) =>
    insertClaim({ clock: { now: () => claimed.expiresAt.getTime() } }, tx, {
      ...{ intent: claimed, payer: PAYER, bodyHash: null, surplus: false },
    }),
  );
  expect(made).not.toBeNull();
  for (let count = 0; count < 7; count += 1) await intentOf(buyer, listing, INTENT_RETENTION_DAYS + 1);
  expect(await pruneIntents(market)).toBe(7);
  expect(await left()).toEqual([young.id, claimed.id].sort());
  expect(await pruneIntents(market)).toBe(0);
});

test('the database lets go of nothing else', async () => {
  const before = await left();
  for (const statement of [
    sql`delete from payment_intents`,
    sql`update payment_intents set challenge = 'another'`,
    sql`truncate payment_intents cascade`,
  ])
    await expect(db.database.run(statement)).rejects.toMatchObject({ constraint: expect.stringContaining('payment') });
  expect(await left()).toEqual(before);
});

test('the open intents of a merchant are found by an index', async () => {
  const { id: buyer } = await seedMerchant(db.database);
  for (const listingId of [1n, null]) {
    const { text, values } = usableIntentQuery(
      { merchantId: buyer, purpose: 'purchase', listingId },
      null,
      new Date(systemClock.now()),
    );
    const plan = await db.database.transaction(async (tx) => {
      await tx.run(sql`set local enable_seqscan = off`);
      const parts = text.split(/\$\d+/).map((part, at) => (at === 0 ? `explain ${part}` : part));
      return await tx.rows<{ 'QUERY PLAN': string }>(new Sql(parts, values));
    });
    expect(plan.map((row) => row['QUERY PLAN']).join('\n')).toMatch(/Index Cond:.*listing_id.*created_at/);
  }
});

import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { openPayment } from '../../../test/support/listing-life.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { systemClock } from '../../platform/clock.ts';
import { pruneAttempts } from './payments.ts';

const DAY_SECONDS = 86_400;
const db = testDatabase();
let seller: SeededMerchant;

beforeAll(async () => {
  await seedMerchant(db.database);
  seller = await seedMerchant(db.database);
});

interface Ended {
  daysAgo: number;
  reason?: string;
  wasSettling?: boolean;
}

/** Inserts an attempt that ended this many days ago. */
async function insertEnded({ daysAgo, reason = 'expired', wasSettling = false }: Ended): Promise<bigint> {
  const { id: listing } = await seedListing(db.database, seller.id);
  const { id } = await db.database.transaction((tx) => openPayment(tx, listing));
  const at = new Date(systemClock.now() - daysAgo * DAY_SECONDS * 1000);
  await db.database.transaction(async (tx) => {
    await tx.run(sql`set local session_replication_role = replica`);
    await tx.run(sql`update payments set status = 'unpaid', end_reason = ${reason}, ended_at = ${at}, created_at = ${at},
      valid_before = ${BigInt(Math.floor(at.getTime() / 1000) - 60)}, settling_at = ${wasSettling ? at : null} where id = ${id}`);
  });
  return id;
}

const left = async (): Promise<bigint[]> =>
  (await db.database.rows<{ id: bigint }>(sql`select id from payments order by id`)).map(({ id }) => id);

it('only what was never submitted, ran out and is a month old goes; no statement deletes anything else', async () => {
  const old = [await insertEnded({ daysAgo: 40 }), await insertEnded({ daysAgo: 32 })];
  const kept = [
    await insertEnded({ daysAgo: 29 }),
    await insertEnded({ daysAgo: 40, wasSettling: true }),
    await insertEnded({ daysAgo: 40, reason: 'canceled' }),
  ];
  for (const id of kept)
    await expect(db.database.run(sql`delete from payments where id = ${id}`)).rejects.toThrow('never deleted');
  expect(await left()).toEqual([...old, ...kept]);
  expect(await pruneAttempts({ database: db.database, clock: systemClock })).toBe(2);
  expect(await left()).toEqual(kept);
});

import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { reasonOf } from '../../../../test/support/ask.ts';
import { testDatabase } from '../../../../test/support/database.ts';
import { act, holdTransactionOpen, openPayment, untilWaiting } from '../../../../test/support/listing-life.ts';
import { marketContext } from '../../../../test/support/market-context.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../../test/support/seed.ts';
import { endpoints } from '../../../contract/index.ts';
import type { Market } from '../../context.ts';
import { editListing } from './edit-listing.ts';

const db = testDatabase();
let market: Market;
let seller: SeededMerchant;

beforeAll(async () => {
  market = marketContext({ database: db.database });
  await seedMerchant(db.database);
  seller = await seedMerchant(db.database);
});

const edit = (id: bigint, body: Record<string, unknown>) =>
  act(market, endpoints.editListing, editListing, { id, body, caller: seller });

async function beingPaid(): Promise<{ id: bigint; payment: bigint }> {
  const { id } = await seedListing(db.database, seller.id);
  const payment = await db.database.transaction((tx) => openPayment(tx, id));
  return { id, payment: payment.id };
}

const settle = (payment: bigint) =>
  db.database.run(sql`update payments set status = 'settling', settling_at = now() where id = ${payment}`);

async function stoppedAt(payment: bigint): Promise<Date | null> {
  const row = sql`select stopped_at as at from payments where id = ${payment}`;
  return (await db.database.one<{ at: Date | null }>(row)).at;
}

it('an edit stops what was not submitted; no statement settles that any more', async () => {
  const { id, payment } = await beingPaid();
  await edit(id, { preview: 'another preview' });
  const at = await stoppedAt(payment);
  expect(at).toBeInstanceOf(Date);
  await expect(settle(payment)).rejects.toThrow('a stopped attempt is not settled');
  await edit(id, { preview: 'yet another' });
  expect(await stoppedAt(payment)).toEqual(at);
  const start = db.database.run(sql`update payments set stopped_at = null where id = ${payment}`);
  await expect(start).rejects.toThrow('only an attempt that was not submitted is stopped, once');
});

it('an edit that is refused, or changes nothing, stops nothing', async () => {
  const { id, payment } = await beingPaid();
  expect(await reasonOf(edit(id, { title: 'Fixed' }))).toBe('field_fixed');
  await edit(id, { description: 'What it is' });
  expect(await stoppedAt(payment)).toBeNull();
});

it('what may be on its way is never stopped: the edit waits', async () => {
  const { id, payment } = await beingPaid();
  await settle(payment);
  expect(await reasonOf(edit(id, { preview: 'another preview' }))).toBe('purchase_pending');
  const stop = db.database.run(sql`update payments set stopped_at = now() where id = ${payment}`);
  await expect(stop).rejects.toThrow('only an attempt that was not submitted is stopped, once');
});

it('an edit waits for a payment that is just being opened, and stops it', async () => {
  const { id } = await seedListing(db.database, seller.id);
  const opening = await holdTransactionOpen(db.database, async (tx) => {
    await tx.one(sql`select id from listings where id = ${id} for share`);
    await openPayment(tx, id);
  });
  const edited = edit(id, { preview: 'another preview' });
  await untilWaiting(db.database);
  await opening.commit();
  expect((await edited).listing).toMatchObject({ preview: 'another preview' });
  const stopped = sql`select from payments where listing_id = ${id} and stopped_at is not null`;
  expect(await db.database.rows(stopped)).toHaveLength(1);
});

import { Client } from 'pg';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../../../test/support/database.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import { systemClock } from '../../../platform/clock.ts';
import { createPruning, KEPT_MS, pruneChanges } from './store.ts';

const HOUR = '1 hour 1 minute';
let db: Awaited<ReturnType<typeof createTestDatabase>>;

beforeEach(async () => {
  db = await createTestDatabase();
});
afterEach(() => db.drop());

/** Records one change in its own transaction. */
async function change(listingId: number, age: string): Promise<bigint> {
  const { xid } = await db.database.one<{ xid: string }>(sql`
    insert into catalog_changes (listing_id, noted_at) values (${listingId}, clock_timestamp() - ${age}::interval)
    returning xid::text as xid`);
  return BigInt(xid);
}

async function kept(): Promise<{ ids: number[]; from: bigint }> {
  const rows = await db.database.rows<{ id: number }>(
    sql`select listing_id::int4 as id from catalog_changes order by listing_id`,
  );
  const { from } = await db.database.one<{ from: string }>(sql`select kept_from::text as from from catalog_state`);
  return { ids: rows.map(({ id }) => id), from: BigInt(from) };
}

/** Prunes until only these changes are left, because transactions in other databases of the server also delay the deletion. */
async function pruneUntil(ids: readonly number[]): Promise<void> {
  const prune = async (): Promise<number[]> => {
    await pruneChanges(db.database, KEPT_MS);
    return (await kept()).ids;
  };
  await expect.poll(prune, { timeout: 20_000 }).toEqual(ids);
}

async function untilDeletable(count: number): Promise<void> {
  const deletable = async (): Promise<number> =>
    (await db.database.rows(sql`select from catalog_changes where xid < pg_snapshot_xmin(pg_current_snapshot())`))
      .length;
  await expect.poll(deletable, { timeout: 20_000 }).toBe(count);
}

test('what is older than an hour goes, the rest stays, and the mark is above all that went', async () => {
  await change(1, HOUR);
  const second = await change(2, HOUR);
  await change(3, '59 minutes');
  await pruneUntil([3]);
  expect(await kept()).toEqual({ ids: [3], from: second + 1n });
});

test('the mark does not move when nothing goes, and never back', async () => {
  const first = await change(1, HOUR);
  const second = await change(2, HOUR);
  await db.database.run(sql`update catalog_changes set noted_at = clock_timestamp() where listing_id = 1`);
  await pruneUntil([1]);
  expect(await kept()).toEqual({ ids: [1], from: second + 1n });
  await db.database.run(
    sql`update catalog_changes set noted_at = clock_timestamp() - ${HOUR}::interval where xid::text = ${first.toString()}`,
  );
  await pruneUntil([]);
  expect(await kept()).toEqual({ ids: [], from: second + 1n });
  expect(await pruneChanges(db.database, KEPT_MS)).toBe(0);
  expect((await kept()).from).toBe(second + 1n);
});

test('the mark never passes a transaction that still runs: what that one changes is not taken for lost', async () => {
  const before = await change(1, HOUR);
  const slow = new Client({ connectionString: db.url });
  await slow.connect();
  await slow.query('begin');
  const { rows } = await slow.query<{ xid: string }>('select pg_current_xact_id()::text as xid');
  const running = BigInt(rows[0]?.xid ?? 0);
  await change(2, HOUR);
  await pruneUntil([2]);
  expect(await pruneChanges(db.database, KEPT_MS)).toBe(0);
  expect(await kept()).toEqual({ ids: [2], from: before + 1n });
  expect(before).toBeLessThan(running);
  await slow.query('commit');
  await slow.end();
  await pruneUntil([]);
});

test('a mark that came with a dump from another server gives way to one of this server', async () => {
  await db.database.run(sql`update catalog_state set kept_from = '1000000000000'::xid8`);
  const only = await change(1, HOUR);
  await pruneUntil([]);
  expect((await kept()).from).toBe(only + 1n);
});

test('more than one batch goes in one call', async () => {
  for (let id = 1; id <= 7; id += 1) await change(id, HOUR);
  await untilDeletable(7);
  expect(await pruneChanges(db.database, KEPT_MS, { batch: 3 })).toBe(7);
  expect((await kept()).ids).toEqual([]);
});

test('the leader prunes at once', async () => {
  await change(1, HOUR);
  await untilDeletable(1);
  const pruning = createPruning({ database: db.database, clock: systemClock, log: recordingLog().log });
  pruning.start();
  await expect.poll(async () => (await kept()).ids).toEqual([]);
  expect(pruning.isLeader()).toBe(true);
  await pruning.stop();
});

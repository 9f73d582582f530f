import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import sql, { raw, type Sql } from 'sql-template-tag';
import { afterAll, expect, inject, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext, settableClock } from '../../../test/support/market-context.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { onServer } from '../../../test/support/run-postgres.ts';
import { seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { canonicalJson, sha256 } from '../../platform/canonical-json.ts';
import { isoTime, systemClock } from '../../platform/clock.ts';
import { constraintOf } from '../../platform/database/database-error.ts';
import { openDatabase } from '../../platform/database/open-database.ts';
import { systemRandom } from '../../platform/random.ts';
import { markRemoved } from '../moderation/store.ts';
import { recordEvent } from './record-event.ts';
import { createSequencer } from './sequencer.ts';

const db = testDatabase();
const ROLE = `openaisle_log_${systemRandom.bytes(6).toString('hex')}`;
afterAll(async () => {
  const { adminUrl } = inject('testPostgres');
  await onServer(adminUrl, `drop role if exists ${ROLE}`).catch(() => {});
});

const numbered = (): Promise<void> =>
  createSequencer({ database: db.database, clock: systemClock, log: recordingLog().log }).whenNumbered();

/** Removes a listing, because the log may only record a removal that happened. */
async function removeOne(changed: Record<string, string | number> = {}): Promise<void> {
  const market = marketContext({ database: db.database });
  const keeper = await keeperOf();
  const { id } = await seedListing(db.database, keeper.id);
  await db.database.transaction(async (tx) => {
    markRemoved(tx, id, { reasonCode: 'spam', reason: 'r', removedBy: keeper.id, now: new Date() });
    const detail = { action: 'remove', listing_id: Number(id), merchant_id: Number(keeper.id), ...changed };
    await recordEvent(tx, market, { kind: 'moderation', actor: keeper.handle, detail });
  });
}

let keeper: Awaited<ReturnType<typeof seedMerchant>> | null = null;
async function keeperOf() {
  keeper ??= await seedMerchant(db.database, { handle: 'the-keeper' });
  return keeper;
}

interface Row {
  id: bigint;
  canonical: Buffer;
  running_hash: Buffer;
  numbered_at: Date;
  nth: bigint;
}
const rows = (): Promise<Row[]> =>
  db.database.rows<Row>(
    sql`select id, canonical, running_hash, numbered_at, nth from events where id is not null order by id`,
  );

test('every row has the hash over all before it, its place, and a time that is never before that of the row before', async () => {
  for (let round = 0; round < 3; round += 1) {
    await removeOne();
    await removeOne();
    await numbered();
  }
  const found = await rows();
  expect(found).toHaveLength(6);
  let before = Buffer.alloc(0) as Buffer;
  for (const [at, { id, canonical, running_hash: hash, numbered_at: numberedAt, nth }] of found.entries()) {
    const place = Buffer.alloc(8);
    place.writeBigInt64BE(id);
    before = sha256(before, place, canonical);
    expect(hash).toEqual(before);
    expect(nth).toBe(BigInt(at + 1));
    expect(numberedAt.getTime()).toBeGreaterThanOrEqual(found[at - 1]?.numbered_at.getTime() ?? 0);
  }
  // Rows of a batch are written in any order, so their times must be equal to the microsecond.
  const times = sql`select count(distinct numbered_at)::int4 as times from events where id is not null`;
  expect(await db.database.one(times)).toEqual({ times: 3 });
});

test('hash, place and time of a row are given once', async () => {
  for (const change of [
    'running_hash = sha256(running_hash)',
    'nth = nth + 1',
    "numbered_at = numbered_at + interval '1 second'",
  ]) {
    const error = await db.database
      .run(sql`update events set ${raw(change)} where id = 1`)
      .catch((thrown: unknown) => thrown);
    expect(constraintOf(error)).toMatchObject({ constraint: 'events_only_grow' });
  }
});

test('an event that disagrees with its row is refused, for every writer', async () => {
  const before = await rows();
  await expect(removeOne({ merchant_id: 77 })).resolves.toBeUndefined();
  await expect(removeOne({ listing_id: 9_999 })).rejects.toMatchObject({ constraint: 'events_tell_of_the_books' });
  await expect(removeOne({ action: 'pin' })).rejects.toMatchObject({ constraint: 'events_tell_of_the_books' });
  await expect(removeOne({ action: 'give_away' })).rejects.toMatchObject({ constraint: 'events_tell_of_the_books' });
  await numbered();
  expect((await rows()).length).toBe(before.length + 1);
});

test('an act of another time than now is refused', async () => {
  await onServer(db.url, 'alter table events enable trigger events_are_of_now');
  const now = systemClock.now();
  for (const [offMs, isTaken] of [
    [-55_000, true],
    [55_000, true],
    [-65_000, false],
    [65_000, false],
  ] as const) {
    const market = marketContext({ database: db.database, clock: settableClock(now + offMs) });
    const { id, handle } = await seedMerchant(db.database);
    await db.database.run(sql`update merchants set joined_at = ${new Date(now + offMs)} where id = ${id}`);
    const registered = db.database.transaction((tx) =>
      recordEvent(tx, market, { kind: 'register', actor: handle, detail: { merchant_id: Number(id) } }),
    );
    if (isTaken) await registered;
    else await expect(registered).rejects.toMatchObject({ constraint: 'events_are_of_now' });
  }
  await onServer(db.url, 'alter table events disable trigger events_are_of_now');
});

test('the role of few rights can neither invent a sale, nor date one back, nor give a hash', async () => {
  await onServer(db.url, `create role ${ROLE} login password 'only-for-a-test'`);
  const script = await readFile(fileURLToPath(new URL('../../../deploy/app-role.sql', import.meta.url)), 'utf8');
  await onServer(db.url, script.replaceAll('openaisle_app', ROLE));
  await onServer(db.url, 'alter table events enable trigger events_are_of_now');
  const address = new URL(db.url);
  address.username = ROLE;
  address.password = 'only-for-a-test';
  const role = await openDatabase({ url: address.href, poolSize: 2, allowUnsafe: true });
  const attempt = (statement: Sql): Promise<unknown> => role.run(statement).catch((thrown: unknown) => thrown);
  const sale = (at: Date): Sql => {
    const detail = { listing_id: 1, merchant_id: 1, paid_usdc: 5_000, verified_via: 'x402' };
    const canonical = Buffer.from(canonicalJson({ actor: 'system', at: isoTime(at.getTime()), detail, kind: 'sale' }));
    return sql`insert into events (kind, at, canonical, in_door, in_window, listing_id) values ('sale', ${at}, ${canonical}, true, true, 1)`;
  };
  try {
    const refused = (error: unknown): string | null | undefined => constraintOf(error)?.constraint;
    expect(refused(await attempt(sale(new Date())))).toBe('events_tell_of_the_books');
    expect(refused(await attempt(sale(new Date(systemClock.now() - 3_600_000))))).toBe('events_are_of_now');
    for (const statement of [
      sql`update events set running_hash = sha256('x') where id is null`,
      sql`insert into events (kind, at, canonical, in_door, in_window, queued_at) values ('sale', now(), '{}', true, true, now())`,
      sql`insert into event_log_baseline values (99, sha256('x'))`,
      sql`insert into recoveries (chain_id, from_block, to_block, reason, kept_event_id, event_id, found, at)
        values (1, 1, 1, 'r', 0, 1, '{}', now())`,
      sql`update history_losses set recovered_by = 1`,
      sql`insert into id_floors values ('listings', 1)`,
    ])
      expect(await attempt(statement)).toMatchObject({ code: '42501' });
    await removeOne();
    await createSequencer({ database: role, clock: systemClock, log: recordingLog().log }).whenNumbered();
    const last = (await rows()).at(-1);
    expect([last?.running_hash.length, last?.nth]).toEqual([32, last?.id]);
  } finally {
    await role.close();
    await onServer(db.url, `drop owned by ${ROLE}`);
    await onServer(db.url, 'alter table events disable trigger events_are_of_now');
  }
});

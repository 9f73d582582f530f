import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { onServer } from '../../../test/support/run-postgres.ts';
import { sha256 } from '../../platform/canonical-json.ts';
import { systemClock } from '../../platform/clock.ts';
import { migrate } from '../../platform/database/migrate.ts';
import { readEventPage } from './read-events.ts';
import { createSequencer } from './sequencer.ts';

// The tests upgrade a log that was written before it could be filtered by listing.

const db = testDatabase({ migrated: false });
const migrationsFolder = fileURLToPath(new URL('../../../migrations/market', import.meta.url));
let before: string;
beforeAll(async () => {
  before = await mkdtemp(join(tmpdir(), 'openaisle-before-'));
  for (const name of await readdir(migrationsFolder)) {
    if (name < '0013') await cp(join(migrationsFolder, name), join(before, name));
  }
});
afterAll(() => rm(before, { recursive: true }));

const write = (detail: string) =>
  db.database.run(sql`
    insert into events (kind, at, canonical, in_door, in_window) values ('sale', now(),
      convert_to(${`{"actor":"alice","at":"2026-01-05T12:00:00.000Z","detail":${detail},"kind":"sale"}`}, 'UTF8'), true, true)`);

const number = () =>
  createSequencer({ database: db.database, clock: systemClock, log: recordingLog().log }).whenNumbered();

/** Numbers events with the statement of earlier versions, which stored no hashes. */
const numberAsBefore = () =>
  db.database.run(sql`
    with newest as (select id, nth_of_door, nth_of_window from events where id is not null order by id desc limit 1),
    kinds as (
      select present.kind, coalesce((select max(nth_of_kind) from events earlier where earlier.kind = present.kind), 0) as nth
      from (select distinct kind from events where id is null) present
    ), numbered as (
      select batch.queue_id, coalesce((select id from newest), 0) + row_number() over upto as id,
        kinds.nth + row_number() over (partition by batch.kind order by batch.queue_id) as nth_of_kind,
        coalesce((select nth_of_door from newest), 0) + count(*) filter (where batch.in_door) over upto as nth_of_door,
        coalesce((select nth_of_window from newest), 0) + count(*) filter (where batch.in_window) over upto as nth_of_window
      from events batch join kinds using (kind) where batch.id is null window upto as (order by batch.queue_id)
    )
    update events set id = numbered.id, nth_of_kind = numbered.nth_of_kind,
      nth_of_door = numbered.nth_of_door, nth_of_window = numbered.nth_of_window
    from numbered where events.queue_id = numbered.queue_id`);

it('is asked for by listing like one written since, numbered or not, and holds the same bytes', async () => {
  const { database } = db;
  await migrate(db.url, before);
  for (const detail of ['{"listing_id":7}', '{"merchant_id":7}', '{"listing_id":8,"price":"ü"}', '{"listing_id":7}'])
    await write(detail);
  await numberAsBefore();
  await write('{"listing_id":7}');
  const bytes = () => database.rows(sql`select queue_id, id, canonical from events order by queue_id`);
  const old = await bytes();
  expect((await migrate(db.url, migrationsFolder))[0]).toBe('0013-history-of-a-listing');
  // The rows that these events refer to never existed.
  await onServer(db.url, 'alter table events disable trigger events_tell_of_the_books');
  expect(await bytes()).toEqual(old);
  await number();
  // Write as a process of the previous version that runs at the same time.
  await write('{"listing_id":9}');
  await write('{"listing_id":9}');
  await numberAsBefore();
  await write('{"listing_id":9}');
  await number();
  const page = (listingId: bigint) => readEventPage(database, { listingId }, { limit: 200, beforeId: null });
  expect((await page(7n)).events.map(({ id }) => id)).toEqual([5, 4, 1]);
  expect((await page(8n)).events.map(({ id }) => id)).toEqual([3]);
  await expect(database.run(sql`update events set listing_id = 9 where id = 1`)).rejects.toThrow('only grows');

  // One hash covers everything numbered before; each later row has its own.
  const rows = await database.rows<{ id: bigint; canonical: Buffer; hash: Buffer | null; nth: bigint | null }>(
    sql`select id, canonical, running_hash as hash, nth from events order by id`,
  );
  const chain: Buffer[] = [];
  for (const { id, canonical } of rows) {
    const place = Buffer.alloc(8);
    place.writeBigInt64BE(id);
    chain.push(sha256(chain.at(-1) ?? '', place, canonical));
  }
  expect(rows.map(({ hash }) => hash)).toEqual([null, null, null, null, ...chain.slice(4)]);
  expect(rows.map(({ nth }) => nth)).toEqual([null, null, null, null, 5n, 6n, 7n, 8n]);
  expect(await database.rows(sql`select last_id, running_hash from event_log_baseline`)).toEqual([
    { last_id: 4n, running_hash: chain[3] },
  ]);
});

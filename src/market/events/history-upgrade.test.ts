import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { systemClock } from '../../platform/clock.ts';
import { migrate } from '../../platform/database/migrate.ts';
import { readEventPage } from './read-event-page.ts';
import { createSequencer } from './sequencer.ts';

// A log that was written before a listing's part of it could be asked for.

const db = testDatabase({ migrated: false });
const whole = fileURLToPath(new URL('../../../migrations/market', import.meta.url));
let before: string;
beforeAll(async () => {
  before = await mkdtemp(join(tmpdir(), 'openaisle-before-'));
  for (const name of await readdir(whole)) {
    if (name < '0013') await cp(join(whole, name), join(before, name));
  }
});
afterAll(() => rm(before, { recursive: true }));

const write = (detail: string) =>
  db.database.run(sql`
    insert into events (kind, at, canonical, in_door, in_window) values ('sale', now(),
      convert_to(${`{"actor":"alice","at":"2026-01-05T12:00:00.000Z","detail":${detail},"kind":"sale"}`}, 'UTF8'), true, true)`);

it('is asked for by listing like one written since, numbered or not, and holds the same bytes', async () => {
  const { database } = db;
  const number = () => createSequencer({ database, clock: systemClock, log: recordingLog().log }).settled();
  await migrate(db.url, before);
  for (const detail of ['{"listing_id":7}', '{"merchant_id":7}', '{"listing_id":8,"price":"ü"}', '{"listing_id":7}'])
    await write(detail);
  await number();
  await write('{"listing_id":7}');
  const bytes = () => database.rows(sql`select queue_id, id, canonical from events order by queue_id`);
  const old = await bytes();
  expect((await migrate(db.url, whole))[0]).toBe('0013-history-of-a-listing');
  expect(await bytes()).toEqual(old);
  await number();
  const page = (listingId: bigint) => readEventPage(database, { listingId }, { limit: 200, beforeId: null });
  expect((await page(7n)).events.map(({ id }) => id)).toEqual([5, 4, 1]);
  expect((await page(8n)).events.map(({ id }) => id)).toEqual([3]);
  await expect(database.run(sql`update events set listing_id = 9 where id = 1`)).rejects.toThrow('only grows');
});

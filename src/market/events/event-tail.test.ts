import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { createTestDatabase, testDatabase } from '../../../test/support/database.ts';
import { onServer } from '../../../test/support/run-postgres.ts';
import { seedEvent } from '../../../test/support/seed.ts';
import type { Database, Queryable } from '../../platform/database/database.ts';
import { openDatabase } from '../../platform/database/open-database.ts';
import { createEventTail, type EventTail, readEventPage } from './read-events.ts';
import { readNewestEventId } from './store.ts';

const db = testDatabase({ inventedEvents: true });
let elsewhere: Database;

beforeAll(async () => {
  elsewhere = await openDatabase({ url: db.url, allowUnsafe: true });
});

afterAll(async () => {
  await elsewhere.close();
});

const shown = (tail: EventTail) => ({
  window: tail.newest('window', 100),
  door: tail.newest('door', 100),
  version: tail.version(),
});

/** Reads from pages of the log what `shown` should return. */
async function expected(queryable: Queryable) {
  const page = { limit: 100, beforeId: null };
  return {
    window: await readEventPage(queryable, { scope: 'window' }, page),
    door: await readEventPage(queryable, { scope: 'door' }, page),
    version: Number(await readNewestEventId(queryable)),
  };
}

async function seedMany(count: number, database: Database = db.database): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await seedEvent(database, turn % 3 === 0 ? 'sale' : turn % 3 === 1 ? 'listing' : 'withdrawal', {
      listing_id: turn + 1,
    });
  }
}

it('has nothing to add where nothing is new, and takes a log that is shorter than it was for another one', async () => {
  const own = await createTestDatabase({ inventedEvents: true });
  onTestFinished(() => own.drop());
  const { database } = own;
  const tail = createEventTail();
  await seedMany(30, database);
  const before = await expected(database);
  (await tail.read(database))?.();
  expect(await tail.read(database)).toBeNull();
  await seedMany(1, database);
  (await tail.read(database))?.();
  await onServer(
    own.url,
    'alter table events disable trigger user; delete from events where id = (select max(id) from events)',
  );
  (await tail.read(database))?.();
  expect(shown(tail)).toEqual(before);
});

it('adds what is new to what it has, as whole pages of the same moment say, whatever is numbered meanwhile', async () => {
  const tail = createEventTail();
  for (const count of [3, 1, 2, 7, 120]) {
    await seedMany(count);
    const of = await db.database.transaction(
      async (tx) => {
        const pages = await expected(tx);
        await seedMany(2, elsewhere);
        const apply = await tail.read(tx);
        expect(shown(tail)).not.toEqual(pages);
        apply?.();
        return pages;
      },
      { isolation: 'repeatable read', readOnly: true },
    );
    expect(shown(tail)).toEqual(of);
  }
});

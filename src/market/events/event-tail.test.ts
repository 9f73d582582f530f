import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { seedEvent } from '../../../test/support/seed.ts';
import { createEventTail, type EventTail } from './event-tail.ts';
import { readNewestEventId } from './store.ts';

const db = testDatabase();

async function readWhole(tail: EventTail): Promise<void> {
  (await db.database.transaction((tx) => tail.read(tx), { isolation: 'repeatable read', readOnly: true }))?.();
}

const shown = (tail: EventTail) => ({
  window: tail.newest('window', 50),
  door: tail.newest('door', 50),
  version: tail.version(),
});

async function seedMany(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await seedEvent(db.database, turn % 3 === 0 ? 'sale' : turn % 3 === 1 ? 'listing' : 'withdrawal', {
      listing_id: turn + 1,
    });
  }
}

it('read up to an event, later than that one was the newest, is as it was then', async () => {
  await seedMany(3);
  const [then, late] = [createEventTail(), createEventTail()];
  await readWhole(then);
  await readWhole(late);
  for (const count of [1, 2, 7]) {
    await seedMany(count);
    await readWhole(then);
    const mark = await readNewestEventId(db.database);
    await seedMany(2);
    const apply = await late.readTo(db.database, mark);
    if (apply === null || apply === 'much') throw new Error('what is new could not be added');
    expect(shown(late)).not.toEqual(shown(then));
    apply();
    expect(shown(late)).toEqual(shown(then));
  }
});

it('has nothing to add where nothing is new, and says where it is too much', async () => {
  const tail = createEventTail();
  const mark = await readNewestEventId(db.database);
  expect(await tail.readTo(db.database, mark)).toBe('much');
  await readWhole(tail);
  expect(await tail.readTo(db.database, mark)).toBeNull();
  expect(await tail.readTo(db.database, mark + 501n)).toBe('much');
});

it('has a mark that says how far the log goes', async () => {
  const { mark } = await db.database.one<{ mark: bigint }>(sql`select (${createEventTail().mark}) as mark`);
  expect(mark).toBe(await readNewestEventId(db.database));
});

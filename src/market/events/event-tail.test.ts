import { afterAll, beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { seedEvent } from '../../../test/support/seed.ts';
import type { Database } from '../../platform/database/database.ts';
import { openDatabase } from '../../platform/database/open-database.ts';
import { createEventTail, type EventTail } from './event-tail.ts';

const db = testDatabase({ inventedEvents: true });
let elsewhere: Database;

beforeAll(async () => {
  elsewhere = await openDatabase({ url: db.url, allowUnsafe: true });
});

afterAll(async () => {
  await elsewhere.close();
});

async function readWhole(tail: EventTail): Promise<void> {
  (await db.database.transaction((tx) => tail.read(tx), { isolation: 'repeatable read', readOnly: true }))?.();
}

const shown = (tail: EventTail) => ({
  window: tail.newest('window', 50),
  door: tail.newest('door', 50),
  version: tail.version(),
});

async function seedMany(count: number, database: Database = db.database): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) {
    await seedEvent(database, turn % 3 === 0 ? 'sale' : turn % 3 === 1 ? 'listing' : 'withdrawal', {
      listing_id: turn + 1,
    });
  }
}

it('at a glance is as a whole reading of the same moment makes it, whatever is numbered meanwhile', async () => {
  await seedMany(3);
  const [whole, glancing] = [createEventTail(), createEventTail()];
  await readWhole(whole);
  await readWhole(glancing);
  for (const count of [1, 2, 7]) {
    await seedMany(count);
    const apply = await db.database.transaction(
      async (tx) => {
        (await whole.read(tx))?.();
        await seedMany(2, elsewhere);
        return glancing.glance(tx);
      },
      { isolation: 'repeatable read', readOnly: true },
    );
    if (apply === null || apply === 'much') throw new Error('what is new could not be added');
    expect(shown(glancing)).not.toEqual(shown(whole));
    apply();
    expect(shown(glancing)).toEqual(shown(whole));
  }
});

it('has nothing to add where nothing is new, and says where it is too much', async () => {
  const tail = createEventTail();
  await seedMany(1);
  expect(await tail.glance(db.database)).toBe('much');
  await readWhole(tail);
  expect(await tail.glance(db.database)).toBeNull();
  await seedMany(500);
  expect(await tail.glance(db.database)).toBeTypeOf('function');
  await seedMany(1);
  expect(await tail.glance(db.database)).toBe('much');
});

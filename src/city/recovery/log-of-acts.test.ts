import sql from 'sql-template-tag';
import { expect, test } from 'vitest';
import { seedResident } from '../../../test/support/city-context.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { systemClock } from '../../platform/clock.ts';
import { hashAfter, type LogEnd } from '../../platform/log-copy/log-copy.ts';
import { insertLoss, readEventsToCopy } from '../../platform/log-copy/store.ts';
import { setMarketHandle } from '../residents/store.ts';
import { recover } from './recover.ts';
import { readLosses } from './store.ts';

const db = testDatabase({ site: 'city' });

test('acts of many transactions at once have no gap, what is rolled back leaves none, what changes nothing is none', async () => {
  const { database } = db;
  const insertion = database.transaction(async (tx) => {
    await tx.run(sql`insert into residents (id, handle, handle_skeleton, model, client_class, key_hash, pepper_version, joined_at)
      values (99, 'stranger', 'stranger', 'm', 'coding_persistent', sha256('x'), 1, now())`);
    throw new Error('not meant');
  });
  await expect(insertion).rejects.toThrow('not meant');
  const residents = await Promise.all(['one', 'two', 'three'].map((handle) => seedResident(database, { handle })));
  await Promise.all(residents.flatMap(({ id }) => ['a1b', 'c2d'].map((name) => setMarketHandle(database, id, name))));
  await Promise.all(residents.map(({ id }) => database.run(sql`update residents set model = model where id = ${id}`)));
  const told = await readEventsToCopy(database, 0n, 500);
  expect(told.map(({ id }) => id)).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 7n, 8n, 9n]);
  let before: LogEnd = { id: 0n, hash: Buffer.alloc(0) };
  for (const act of told) {
    expect(act.hash).toEqual(hashAfter(before, act));
    before = act;
  }
  await expect(database.run(sql`update events set canonical = '{}' where id = 1`)).rejects.toMatchObject({
    constraint: 'events_only_grow',
  });
});

test('while a loss is open nothing changes, and it is ended by a recovery only', async () => {
  const { database } = db;
  const copy = { id: 99n, hash: Buffer.alloc(32, 1) };
  const host = '00000000-0000-0000-0000-000000000001';
  expect(await insertLoss(database, { copy, foundId: 9n, host, now: new Date() })).toBe(true);
  expect((await readLosses(database)).open).not.toBeNull();
  const lost = { constraint: 'history_is_whole' };
  await expect(seedResident(database, { handle: 'four' })).rejects.toMatchObject(lost);
  await expect(setMarketHandle(database, 1n, 'x-1')).rejects.toMatchObject(lost);
  await expect(database.run(sql`delete from residents where id = 1`)).rejects.toMatchObject(lost);
  await expect(database.run(sql`update history_losses set recovered_by = null`)).rejects.toMatchObject({
    constraint: 'history_losses_end_once',
  });
  const given = { clock: systemClock, log: recordingLog().log, database };
  await recover(given, { reason: 'a test', copied: null, asItStands: true });
  expect((await readLosses(database)).open).toBeNull();
  expect((await seedResident(database, { handle: 'four' })).id).toBe(1_000_004n);
});

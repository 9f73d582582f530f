import sql, { type Sql } from 'sql-template-tag';
import { beforeAll, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { systemClock } from '../../platform/clock.ts';
import { constraintOf } from '../../platform/database/database-error.ts';
import { recordEvent } from './record-event.ts';
import { createSequencer } from './sequencer.ts';

const db = testDatabase({ inventedEvents: true });

beforeAll(async () => {
  const market = marketContext({ database: db.database });
  const write = (actor: string) =>
    db.database.transaction((tx) => recordEvent(tx, market, { kind: 'sale', actor, detail: { listing_id: 1 } }));
  await write('numbered');
  await createSequencer({ database: db.database, clock: systemClock, log: recordingLog().log }).whenNumbered();
  await write('waiting');
});

const statements: [string, Sql][] = [
  ['deleting a numbered event', sql`delete from events where id = 1`],
  ['deleting a waiting event', sql`delete from events where id is null`],
  ['emptying the log', sql`truncate events`],
  ['changing the kind of a numbered event', sql`update events set kind = 'flag' where id = 1`],
  ['changing the bytes of a numbered event', sql`update events set canonical = '{}' where id = 1`],
  ['changing the bytes of a waiting event', sql`update events set canonical = '{}' where id is null`],
  [
    'taking a number away',
    sql`update events set id = null, nth_of_kind = null, nth_of_door = null, nth_of_window = null`,
  ],
  ['giving another number', sql`update events set id = 9 where id = 1`],
  ['correcting a running count', sql`update events set nth_of_kind = 7 where id = 1`],
  ...['kind', 'at', 'canonical', 'in_door', 'in_window', 'queued_at', 'listing_id'].map((column): [string, Sql] => [
    `changing ${column} while numbering`,
    numberingWith(column),
  ]),
  [
    'inserting an event with a number',
    sql`insert into events (id, kind, at, canonical, in_door, in_window, nth_of_kind, nth_of_door, nth_of_window)
      values (2, 'sale', now(), '{}', true, true, 2, 2, 2)`,
  ],
];

function numberingWith(column: string): Sql {
  const changed: Record<string, Sql> = {
    kind: sql`kind = 'flag'`,
    at: sql`at = at - interval '1 second'`,
    canonical: sql`canonical = '{}'`,
    in_door: sql`in_door = not in_door`,
    in_window: sql`in_window = not in_window`,
    queued_at: sql`queued_at = queued_at - interval '1 second'`,
    listing_id: sql`listing_id = 77`,
  };
  return sql`update events set id = 2, nth_of_kind = 2, nth_of_door = 2, nth_of_window = 2, ${changed[column]}
    where id is null`;
}

test.each(statements)('the database refuses %s', async (_what, statement) => {
  const before = await db.database.rows(sql`select * from events order by queue_id`);
  expect(before).toHaveLength(2);
  const error = await db.database.run(statement).catch((thrown: unknown) => thrown);
  expect(constraintOf(error)).toMatchObject({ constraint: 'events_only_grow' });
  expect(await db.database.rows(sql`select * from events order by queue_id`)).toEqual(before);
});

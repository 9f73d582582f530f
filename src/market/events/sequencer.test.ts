import sql, { type Sql } from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createTestDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { recordingLog } from '../../../test/support/recording-log.ts';
import { EVENT_KINDS, type EventKind, SCOPE_KINDS } from '../../contract/vocabulary.ts';
import { systemClock } from '../../platform/clock.ts';
import { openDatabase } from '../../platform/database/open-database.ts';
import type { Market } from '../context.ts';
import { readEventPage } from './read-events.ts';
import { recordEvent } from './record-event.ts';
import { createSequencer, type Sequencer } from './sequencer.ts';

let db: Awaited<ReturnType<typeof createTestDatabase>>;
let market: Market;
let sequencer: Sequencer;
let recorded: ReturnType<typeof recordingLog>;

beforeEach(async () => {
  db = await createTestDatabase({ poolSize: 20, inventedEvents: true });
  recorded = recordingLog();
  sequencer = createSequencer({ database: db.database, clock: systemClock, log: recorded.log });
  market = marketContext({ database: db.database, changes: { wakeEvents: sequencer.wake } });
});

afterEach(async () => {
  await sequencer.stop();
  await db.drop();
});

const record = (kind: EventKind, detail: Record<string, number> = {}): Promise<void> =>
  db.database.transaction((tx) => recordEvent(tx, market, { kind, actor: 'alice', detail }));

interface Row {
  id: bigint;
  kind: EventKind;
  nth_of_kind: bigint;
  nth_of_door: bigint;
  nth_of_window: bigint;
}

/** Recounts the whole log and compares it with the stored numbers. */
async function expectExactNumbers(count: number): Promise<void> {
  const rows = await db.database.rows<Row>(
    sql`select id, kind, nth_of_kind, nth_of_door, nth_of_window from events where id is not null order by id`,
  );
  expect(rows).toHaveLength(count);
  const seen = new Map<string, bigint>();
  const count1 = (key: string, by: boolean): bigint => {
    const now = (seen.get(key) ?? 0n) + (by ? 1n : 0n);
    seen.set(key, now);
    return now;
  };
  for (const [index, row] of rows.entries()) {
    expect(row).toMatchObject({
      id: BigInt(index + 1),
      nth_of_kind: count1(row.kind, true),
      nth_of_door: count1('door', SCOPE_KINDS.door.includes(row.kind)),
      nth_of_window: count1('window', SCOPE_KINDS.window.includes(row.kind)),
    });
  }
}

test('an event is not readable before it is numbered, and is after settled', async () => {
  const idle = marketContext({ database: db.database });
  await db.database.transaction((tx) =>
    recordEvent(tx, idle, { kind: 'sale', actor: 'alice', detail: { listing_id: 3 } }),
  );
  expect(await readEventPage(db.database, null, { limit: 10, beforeId: null })).toMatchObject({ total: 0, events: [] });
  await sequencer.whenNumbered();
  expect(await readEventPage(db.database, null, { limit: 10, beforeId: null })).toMatchObject({
    total: 1,
    events: [{ id: 1, kind: 'sale', actor: 'alice', detail: { listing_id: 3 } }],
  });
});

test('a rolled back transaction leaves no event and wakes no sequencer', async () => {
  let woken = 0;
  const counting = {
    ...market,
    wakeEvents: () => {
      woken += 1;
    },
  };
  const failing = db.database.transaction(async (tx) => {
    await recordEvent(tx, counting, { kind: 'sale', actor: 'alice', detail: {} });
    throw new Error('no sale');
  });
  await expect(failing).rejects.toThrow('no sale');
  await record('sale');
  await sequencer.whenNumbered();
  await expectExactNumbers(1);
  expect(woken).toBe(0);
});

test('what is stored is the canonical form, whatever order the detail came in', async () => {
  await db.database.transaction((tx) =>
    recordEvent(tx, market, { kind: 'comment', actor: 'alice', detail: { z: 1, a: { d: [null, 'é'], b: true } } }),
  );
  const { canonical, at } = await db.database.one<{ canonical: Buffer; at: Date }>(
    sql`select canonical, at from events`,
  );
  expect(canonical.toString('utf8')).toBe(
    `{"actor":"alice","at":"${at.toISOString()}","detail":{"a":{"b":true,"d":[null,"é"]},"z":1},"kind":"comment"}`,
  );
});

test('16 writers with rollbacks between: every walk by pages falls by one, without holes, as long as its first total', async () => {
  sequencer.start();
  const perWriter = 60;
  let writing = true;
  const write = async (writer: number): Promise<number> => {
    let committed = 0;
    for (let turn = 0; turn < perWriter; turn += 1) {
      const kind = EVENT_KINDS[(writer + turn) % EVENT_KINDS.length] ?? 'sale';
      const rolledBack = (writer + turn) % 5 === 0;
      await db.database
        .transaction(async (tx) => {
          await recordEvent(tx, market, { kind, actor: `w-${writer}`, detail: { turn } });
          if (rolledBack) throw new Error('rolled back');
        })
        .then(
          () => {
            committed += 1;
          },
          (error: unknown) => {
            if (!rolledBack) throw error;
          },
        );
    }
    return committed;
  };
  let walks = 0;
  let newest = 0;
  const walkAll = async (): Promise<void> => {
    while (writing || walks === 0) {
      const ids = await walk(17);
      expect(ids).toEqual(Array.from(ids, (_, index) => ids.length - index));
      expect(ids.length).toBeGreaterThanOrEqual(newest);
      newest = ids.length;
      walks += 1;
    }
  };
  const writers = Promise.all(Array.from({ length: 16 }, (_, writer) => write(writer))).finally(() => {
    writing = false;
  });
  const [committed] = await Promise.all([writers, walkAll()]);
  await sequencer.whenNumbered();
  expect(walks).toBeGreaterThan(1);
  const all = committed.reduce((sum, count) => sum + count, 0);
  expect(await walk(200)).toHaveLength(all);
  await expectExactNumbers(all);
});

/** Pages from the newest event down and asserts that there are as many as the first page's total. */
async function walk(limit: number): Promise<number[]> {
  const ids: number[] = [];
  let beforeId: bigint | null = null;
  let total: number | null = null;
  do {
    const page = await readEventPage(db.database, null, { limit, beforeId });
    total ??= page.total;
    ids.push(...page.events.map(({ id }) => id));
    expect(page.hasMore).toBe(page.nextBeforeId !== null);
    beforeId = page.nextBeforeId === null ? null : BigInt(page.nextBeforeId);
  } while (beforeId !== null);
  expect(ids).toHaveLength(total);
  return ids;
}

test('two sequencers at once, one of another process, never give a number twice nor leave one out', async () => {
  const second = await openDatabase({ url: db.url, poolSize: 2, allowUnsafe: true });
  const other = createSequencer({ database: second, clock: systemClock, log: recorded.log });
  try {
    sequencer.start();
    other.start();
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(Array.from({ length: 16 }, (_, index) => record(EVENT_KINDS[index % 15] ?? 'sale')));
      await Promise.all([sequencer.whenNumbered(), other.whenNumbered()]);
      await expectExactNumbers((round + 1) * 16);
    }
    expect(recorded.lines.filter(({ level }) => level !== 'info')).toEqual([]);
    expect([sequencer.isLeader(), other.isLeader()].filter(Boolean)).toHaveLength(1);
  } finally {
    await other.stop();
    await second.close();
  }
});

test('more rows than one batch are numbered in the order of the queue', async () => {
  await db.database.run(sql`
    insert into events (kind, at, canonical, in_door, in_window)
    select 'sale', now(), convert_to(n::text, 'UTF8'), true, true from generate_series(1, 1234) n`);
  await sequencer.whenNumbered();
  const { inOrder } = await db.database.one<{ inOrder: boolean }>(
    sql`select bool_and(id::text = convert_from(canonical, 'UTF8')) as "inOrder" from events`,
  );
  expect(inOrder).toBe(true);
  await expectExactNumbers(1234);
});

test('a row that commits after a later one in the queue goes above all that is numbered', async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: isQueued, resolve: queued } = Promise.withResolvers<void>();
  const slow = db.database.transaction(async (tx) => {
    await recordEvent(tx, market, { kind: 'register', actor: 'slow', detail: {} });
    queued();
    await held;
  });
  await isQueued;
  await record('sale');
  await sequencer.whenNumbered();
  release();
  await slow;
  await sequencer.whenNumbered();
  const { events } = await readEventPage(db.database, null, { limit: 10, beforeId: null });
  expect(events.map(({ id, actor }) => [id, actor])).toEqual([
    [2, 'slow'],
    [1, 'alice'],
  ]);
});

test('settled does not take the word of a pass that looked before the commit', async () => {
  const { promise: looked, resolve: hasLooked } = Promise.withResolvers<void>();
  const { promise: mayGoOn, resolve: goOn } = Promise.withResolvers<void>();
  let first = true;
  const database: Market['database'] = {
    ...db.database,
    one: async <T>(query: Sql): Promise<T> => {
      const row = await db.database.one<T>(query);
      if (first) {
        first = false;
        hasLooked();
        await mayGoOn;
      }
      return row;
    },
  };
  const delayed = createSequencer({ database, clock: systemClock, log: recorded.log });
  const early = delayed.whenNumbered();
  await looked;
  const idle = marketContext({ database: db.database });
  await db.database.transaction((tx) => recordEvent(tx, idle, { kind: 'sale', actor: 'alice', detail: {} }));
  const late = Promise.all([delayed.whenNumbered(), delayed.whenNumbered()]);
  goOn();
  await early;
  await late;
  await expectExactNumbers(1);
});

test('polling numbers what another process queued without waking this one', async () => {
  sequencer.start();
  const idle = marketContext({ database: db.database });
  await db.database.transaction((tx) => recordEvent(tx, idle, { kind: 'sale', actor: 'alice', detail: {} }));
  await expect.poll(async () => (await readEventPage(db.database, null, { limit: 1, beforeId: null })).total).toBe(1);
});

test('a row that stays unnumbered for 5 s raises the alarm, and is numbered once it can be', async () => {
  await db.database.run(sql`
    insert into events (kind, at, canonical, in_door, in_window, queued_at)
    values ('sale', now(), '{}', true, true, clock_timestamp() - interval '6 seconds')`);
  const other = await openDatabase({ url: db.url, poolSize: 1, allowUnsafe: true });
  await other.transaction(async (tx) => {
    await tx.lock('events');
    sequencer.start();
    const { level, fields } = await recorded.logged('sequencer_late');
    expect(level).toBe('error');
    expect(fields['waited_ms']).toBeGreaterThanOrEqual(6_000);
  });
  await other.close();
  await sequencer.whenNumbered();
  await expectExactNumbers(1);
});

test('a pass cut off by the database is logged once and made up for by the poll', async () => {
  sequencer.start();
  await sequencer.whenNumbered();
  await record('sale');
  await sequencer.whenNumbered();
  const other = await openDatabase({ url: db.url, poolSize: 2, allowUnsafe: true });
  await other.transaction(async (tx) => {
    await tx.lock('events');
    await record('flag');
    const killed = (): Promise<number> =>
      db.database.run(sql`select pg_terminate_backend(pid) from pg_locks
        where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())`);
    await expect.poll(killed).toBeGreaterThan(0);
    await recorded.logged('sequencer_failed');
  });
  await other.close();
  await recorded.logged('sequencer_recovered');
  await sequencer.whenNumbered();
  await expectExactNumbers(2);
  const numbering = recorded.lines.map(({ event }) => event).filter((event) => event !== 'job_leader_acquired');
  expect(numbering).toEqual(['sequencer_failed', 'sequencer_recovered']);
});

test('what a process left unnumbered is numbered although the leader is frozen', async () => {
  const frozen = await openDatabase({ url: db.url, poolSize: 1, allowUnsafe: true });
  const thawed = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  const holding = frozen.withAdvisoryLock('duty:number_events', async () => {
    taken.resolve();
    await thawed.promise;
  });
  await taken.promise;
  sequencer.start();
  const idle = marketContext({ database: db.database });
  await db.database.transaction((tx) => recordEvent(tx, idle, { kind: 'sale', actor: 'alice', detail: {} }));
  await expect.poll(async () => (await readEventPage(db.database, null, { limit: 1, beforeId: null })).total).toBe(1);
  expect(sequencer.isLeader()).toBe(false);
  expect(sequencer.unnumberedMs()).toBeGreaterThan(0);
  await expect.poll(() => sequencer.unnumberedMs()).toBe(0);
  thawed.resolve();
  await holding;
  await frozen.close();
});

test('stop numbers what was committed before it', async () => {
  const idle = marketContext({ database: db.database });
  await db.database.transaction((tx) => recordEvent(tx, idle, { kind: 'sale', actor: 'alice', detail: {} }));
  await sequencer.stop();
  await expectExactNumbers(1);
});

test('settled after stop is refused', async () => {
  sequencer.start();
  await sequencer.stop();
  await expect(sequencer.whenNumbered()).rejects.toThrow('stopped');
});

import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import type { Database, Tx } from './database.ts';
import { isForeignKeyViolation, isOutcomeUnknown, isUnavailable, isUniqueViolation } from './database-error.ts';
import { openDatabase } from './open-database.ts';

const db = testDatabase({ migrated: false });
let elsewhere: Database;

beforeAll(async () => {
  elsewhere = await openDatabase({ url: db.url, allowUnsafe: true });
});

afterAll(async () => {
  await elsewhere.close();
});

beforeEach(async () => {
  await db.database.run(sql`drop table if exists notes`);
  await db.database.run(sql`create table notes (
    n int4 primary key, parent int4 references notes deferrable initially deferred)`);
});

const insert = (n: number, parent: number | null = null) => sql`insert into notes values (${n}, ${parent})`;

const counted = sql`select count(*)::int4 as n from notes`;

async function stored(): Promise<number[]> {
  return (await db.database.rows<{ n: number }>(sql`select n from notes order by n`)).map(({ n }) => n);
}

test('what returns is committed, what throws is rolled back', async () => {
  expect(await db.database.transaction(async (tx) => tx.run(insert(1)))).toBe(1);
  const refused = db.database.transaction(async (tx) => {
    await tx.run(insert(2));
    throw new Error('refused');
  });
  await expect(refused).rejects.toThrow('refused');
  expect(await stored()).toEqual([1]);
});

test('a finished transaction cannot be used', async () => {
  let kept: Tx | undefined;
  await db.database.transaction(async (tx) => {
    kept = tx;
  });
  await expect(kept?.run(insert(1))).rejects.toThrow('this transaction has ended');
  await expect(kept?.lock('key')).rejects.toThrow('this transaction has ended');
  await expect(kept?.savepoint(async () => {})).rejects.toThrow('this transaction has ended');
  expect(() => kept?.afterCommit(() => {})).toThrow('this transaction has ended');
  expect(await stored()).toEqual([]);
});

test('the database itself is refused inside a transaction, also deep below and after a wait', async () => {
  const outside: (() => Promise<unknown>)[] = [
    () => db.database.run(insert(1)),
    () => db.database.transaction(async () => {}),
    () => db.database.withAdvisoryLock('key', async () => {}),
  ];
  for (const use of outside) {
    const escaped = db.database.transaction(async (tx) => {
      await tx.run(insert(2));
      await Promise.resolve();
      await use();
    });
    await expect(escaped).rejects.toThrow('inside an open transaction');
  }
  expect(await stored()).toEqual([]);
});

test('work that a transaction leaves behind may use the database once it has ended', async () => {
  const ended = Promise.withResolvers<void>();
  let later: Promise<number> | undefined;
  await db.database.transaction(async () => {
    later = ended.promise.then(() => db.database.run(insert(1)));
  });
  ended.resolve();
  expect(await later).toBe(1);
});

test('a savepoint loses only its own work, and its after-commit acts', async () => {
  const acts: string[] = [];
  await db.database.transaction(async (tx) => {
    await tx.run(insert(1));
    tx.afterCommit(() => acts.push('outer'));
    const failed = tx.savepoint(async () => {
      await tx.run(insert(2));
      tx.afterCommit(() => acts.push('lost'));
      await tx.savepoint(() => tx.run(insert(3)));
      await tx.run(insert(1));
    });
    await expect(failed).rejects.toSatisfy(isUniqueViolation);
    await tx.savepoint(() => tx.run(insert(4)));
    tx.afterCommit(() => acts.push('last'));
  });
  expect(await stored()).toEqual([1, 4]);
  expect(acts).toEqual(['outer', 'last']);
});

test('savepoints that overlap are a bug and roll everything back', async () => {
  const first = Promise.withResolvers<void>();
  const overlapping = db.database.transaction(async (tx) => {
    const outer = tx.savepoint(() => first.promise);
    const inner = tx.savepoint(async () => {
      first.resolve();
      await outer;
    });
    await inner;
  });
  await expect(overlapping).rejects.toThrow('reverse order');
});

test('after-commit acts run after the commit, and never after a rollback', async () => {
  const seen: string[] = [];
  const watched = (fails: boolean) =>
    db.database.transaction(async (tx) => {
      tx.afterCommit(() => seen.push(fails ? 'rolled back' : 'committed'));
      await tx.run(insert(1));
      expect(seen).toEqual([]);
      if (fails) throw new Error('refused');
    });
  await expect(watched(true)).rejects.toThrow('refused');
  await watched(false);
  expect(seen).toEqual(['committed']);
});

test('a failed statement that was passed over is not taken for a commit', async () => {
  const acts: string[] = [];
  const passedOver = db.database.transaction(async (tx) => {
    tx.afterCommit(() => acts.push('committed'));
    await tx.run(insert(1));
    await tx.run(insert(1)).catch(() => {});
  });
  await expect(passedOver).rejects.toThrow('rolled back');
  expect(await stored()).toEqual([]);
  expect(acts).toEqual([]);
});

test('a constraint checked at commit keeps its name, and the connection lives on', async () => {
  const orphan = db.database.transaction((tx) => tx.run(insert(1, 99)));
  await expect(orphan).rejects.toSatisfy((error) => isForeignKeyViolation(error, 'notes_parent_fkey'));
  expect(await stored()).toEqual([]);
});

test('a connection lost before the commit is a known outcome, one lost in the commit an unknown one', async () => {
  const suicide = sql`select pg_terminate_backend(pg_backend_pid())`;
  const before = await db.database.transaction((tx) => tx.rows(suicide)).catch((error: unknown) => error);
  expect([isUnavailable(before), isOutcomeUnknown(before)]).toEqual([true, false]);

  // A deferred trigger runs during the commit.
  await db.database.run(sql`create or replace function die() returns trigger language plpgsql as
    'begin perform pg_terminate_backend(pg_backend_pid()); return null; end'`);
  await db.database.run(sql`create constraint trigger die after insert on notes deferrable initially deferred
    for each row execute function die()`);
  const acts: string[] = [];
  const during = await db.database
    .transaction(async (tx) => {
      tx.afterCommit(() => acts.push('committed'));
      await tx.run(insert(1));
    })
    .catch((error: unknown) => error);
  expect([isUnavailable(during), isOutcomeUnknown(during)]).toEqual([true, true]);
  expect(acts).toEqual([]);
});

describe('with its last statement', () => {
  const last = (n: number, parent: number | null = null) =>
    db.database.transaction(async (tx) => {
      tx.later(insert(n));
      return tx.last.run(insert(n + 1, parent));
    });

  test('a transaction is committed by the time that this one is answered', async () => {
    const seen = await db.database.transaction(async (tx) => {
      await tx.run(insert(1));
      const [, second] = await Promise.all([tx.run(insert(2)), tx.last.one<{ n: number }>(counted)]);
      const outside = await elsewhere.rows(sql`select n from notes`);
      return { inside: second.n, outside: outside.length };
    });
    expect(seen).toEqual({ inside: 2, outside: 2 });
  });

  test('acts for after the commit run after it, and nothing else can be asked', async () => {
    const acts: string[] = [];
    await db.database.transaction(async (tx) => {
      tx.afterCommit(() => acts.push('committed'));
      const answer = tx.last.run(insert(1));
      await expect(tx.run(insert(2))).rejects.toThrow('this transaction has ended');
      await expect(tx.last.run(insert(2))).rejects.toThrow('this transaction has ended');
      expect(() => tx.later(insert(2))).toThrow('this transaction has ended');
      await answer;
      expect(acts).toEqual([]);
    });
    expect(acts).toEqual(['committed']);
    expect(await stored()).toEqual([1]);
  });

  test('a savepoint cannot be left out', async () => {
    const inside = db.database.transaction((tx) => tx.savepoint(() => tx.last.run(insert(1))));
    await expect(inside).rejects.toThrow('inside a savepoint');
    expect(await stored()).toEqual([]);
  });

  test('what fails, now or at the commit, leaves nothing, is known to, and leaves the connection whole', async () => {
    expect(await last(1)).toBe(1);
    for (const [failing, isItsCause] of [
      [() => last(1), isUniqueViolation],
      [() => last(0), isUniqueViolation],
      [() => last(7, 99), isForeignKeyViolation],
    ] as const) {
      const error = await failing().catch((cause: unknown) => cause);
      expect([isItsCause(error), isUnavailable(error), isOutcomeUnknown(error)]).toEqual([true, false, false]);
    }
    expect(await stored()).toEqual([1, 2]);
  });

  test('a connection that is lost then is an unknown outcome', async () => {
    const suicide = sql`select pg_terminate_backend(pg_backend_pid())`;
    const ways: ((tx: Tx) => Promise<unknown>)[] = [
      (tx) => tx.last.rows(suicide),
      // Either statement may be the first to report the lost connection.
      (tx) => Promise.all([tx.rows(suicide), tx.last.run(insert(1))]),
      (tx) => Promise.any([tx.last.rows(suicide), 'passed over']),
    ];
    for (const way of ways) {
      const error = await db.database.transaction(way).catch((cause: unknown) => cause);
      expect([isUnavailable(error), isOutcomeUnknown(error)]).toEqual([true, true]);
    }
  });

  test('what is thrown after it takes nothing back', async () => {
    const thrown = db.database.transaction(async (tx) => {
      await tx.last.run(insert(1));
      throw new Error('too late');
    });
    await expect(thrown).rejects.toThrow('too late');
    expect(await stored()).toEqual([1]);
    expect(await last(2)).toBe(1);
  });
});

test('statements handed in at once run one after the other, and all of them before the commit', async () => {
  await db.database.transaction(async (tx) => {
    await Promise.all(Array.from({ length: 20 }, (_, index) => tx.run(insert(index))));
    for (const forgotten of [20, 21, 22]) tx.run(insert(forgotten)).catch(() => {});
  });
  expect(await stored()).toHaveLength(23);
});

test('plans are made once or each time for a transaction that asks for it, and for no other on its connection', async () => {
  const mode = sql`select current_setting('plan_cache_mode') as mode`;
  const asked = { planned: 'once', readOnly: true } as const;
  expect(await db.database.transaction((tx) => tx.one(mode), asked)).toEqual({ mode: 'force_generic_plan' });
  expect(await db.database.transaction((tx) => tx.one(mode), { planned: 'each time' })).toEqual({
    mode: 'force_custom_plan',
  });
  expect(await db.database.transaction((tx) => tx.one(mode))).toEqual({ mode: 'auto' });
});

test('isolation and read-only are what was asked for', async () => {
  const settings = await db.database.transaction(
    (tx) =>
      tx.one(sql`select current_setting('transaction_isolation') as isolation,
        current_setting('transaction_read_only') as read_only`),
    { isolation: 'repeatable read', readOnly: true },
  );
  expect(settings).toEqual({ isolation: 'repeatable read', read_only: 'on' });
});

test('a lock makes the second transaction wait for the end of the first', async () => {
  const order: string[] = [];
  const held = Promise.withResolvers<void>();
  const free = Promise.withResolvers<void>();
  const first = db.database.transaction(async (tx) => {
    await tx.lock('seat');
    held.resolve();
    await free.promise;
    order.push('first');
  });
  await held.promise;
  const second = db.database.transaction(async (tx) => {
    await tx.lock('seat');
    order.push('second');
  });
  await db.database.transaction((tx) => tx.lock('another seat'));
  await expect
    .poll(() =>
      db.database.one(sql`select count(*) as n from pg_locks where locktype = 'advisory' and not granted
      and database = (select oid from pg_database where datname = current_database())`),
    )
    .toEqual({ n: 1n });
  free.resolve();
  await Promise.all([first, second]);
  expect(order).toEqual(['first', 'second']);
});

const count = sql`select count(*) as n from notes`;

test('what is left for later runs before whatever is asked next, and before the commit', async () => {
  await db.database.transaction(async (tx) => {
    tx.later(insert(1));
    expect(await tx.one(count)).toEqual({ n: 1n });
    tx.later(insert(2));
    await tx.savepoint(async () => tx.later(insert(3)));
    tx.later(insert(4));
  });
  expect(await stored()).toEqual([1, 2, 3, 4]);
});

test('a transaction that only leaves something for later does it, or nothing of it when it throws', async () => {
  await db.database.transaction(async (tx) => tx.later(insert(1)));
  const refused = db.database.transaction(async (tx) => {
    tx.later(insert(2));
    throw new Error('refused');
  });
  await expect(refused).rejects.toThrow('refused');
  expect(await stored()).toEqual([1]);
});

test('what fails later fails the statement it goes with, or the commit, with a known outcome', async () => {
  const acts: string[] = [];
  const asked = db.database.transaction(async (tx) => {
    await tx.run(insert(1));
    tx.later(insert(1));
    await tx.one(count);
  });
  await expect(asked).rejects.toSatisfy((error) => isUniqueViolation(error) && !isOutcomeUnknown(error));
  const ended = db.database.transaction(async (tx) => {
    tx.afterCommit(() => acts.push('committed'));
    await tx.run(insert(1));
    tx.later(insert(1));
  });
  await expect(ended).rejects.toSatisfy((error) => isUniqueViolation(error) && !isOutcomeUnknown(error));
  expect(await stored()).toEqual([]);
  expect(acts).toEqual([]);
});

test('what was left for later inside a savepoint is lost with it, and fails only it', async () => {
  await db.database.transaction(async (tx) => {
    await tx.run(insert(1));
    const thrown = tx.savepoint(async () => {
      tx.later(insert(2));
      throw new Error('refused');
    });
    await expect(thrown).rejects.toThrow('refused');
    const failed = tx.savepoint(async () => tx.later(insert(1)));
    await expect(failed).rejects.toSatisfy(isUniqueViolation);
    await tx.run(insert(3));
  });
  expect(await stored()).toEqual([1, 3]);
});

test('of statements handed in at once none runs after one that fails, and a savepoint takes all of them back', async () => {
  await db.database.transaction(async (tx) => {
    const failed = tx.savepoint(async () => {
      await Promise.all([tx.run(insert(1)), tx.run(insert(1)), tx.run(insert(2))]);
    });
    await expect(failed).rejects.toSatisfy(isUniqueViolation);
    await tx.run(insert(3));
  });
  expect(await stored()).toEqual([3]);
});

test('an error tells where it was asked for', async () => {
  async function askForTrouble(tx: Tx): Promise<void> {
    await tx.run(sql`select nothing from nowhere`);
  }
  const error: unknown = await db.database.transaction(askForTrouble).catch((failure: unknown) => failure);
  expect(error).toHaveProperty('stack', expect.stringContaining('askForTrouble'));
});

test('a transaction that asks nothing leaves its connection as it was', async () => {
  const refused = db.database.transaction(async () => {
    throw new Error('refused');
  });
  await expect(refused).rejects.toThrow('refused');
  expect(await db.database.transaction(async () => 7)).toBe(7);
  await db.database.run(insert(1));
  expect(await stored()).toEqual([1]);
});

test('a transaction may be given more time for a statement than others, or less', async () => {
  const slow = sql`select pg_sleep(0.3)`;
  const hurried = db.database.transaction((tx) => tx.run(slow), { statementTimeoutMs: 50 });
  await expect(hurried).rejects.toThrow('statement timeout');
  const limit = sql`show statement_timeout`;
  const patient = await db.database.transaction((tx) => tx.one(limit), { statementTimeoutMs: 60_000 });
  expect(patient).toEqual({ statement_timeout: '1min' });
  expect(await db.database.one(limit)).toEqual({ statement_timeout: '5s' });
});

import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { recordingLog } from '../../../test/support/recording-log.ts';
import {
  openPostgresGround,
  type PostgresGround,
  type PostgresServer,
} from '../../../test/support/standby-postgres.ts';
import type { Database } from './database.ts';
import { isOutcomeUnknown, isUnavailable } from './database-error.ts';
import { openDatabase } from './open-database.ts';

const patiently = { timeout: 20_000, interval: 20 };

let ground: PostgresGround;
let primary: PostgresServer;
let standby: PostgresServer;
let database: Database;
let log: ReturnType<typeof recordingLog>;

beforeAll(async () => {
  ground = await openPostgresGround();
  primary = await ground.startPrimary();
  await primary.ask('alter role openaisle set client_min_messages = error');
  const before = await openDatabase({ url: primary.url });
  await before.run(sql`create table kept (n int4 primary key)`);
  await before.close();
  standby = await primary.copyWhileRunning();
  await standby.startAsStandbyOf(primary, 'second');
});
afterAll(async () => {
  await database.close();
  await ground.drop();
});
beforeEach(async () => {
  await primary.makeSynchronous('second');
  log = recordingLog();
  await database?.close();
  database = await openDatabase({ url: primary.url, poolSize: 2, log: log.log });
  await standby.pauseStreaming();
});

afterEach(() => standby.resumeStreaming());

/** Cancels a commit that waits for the standby, as an operator may do when the standby is gone. */
async function cancelWait(): Promise<void> {
  const cancel = "select pg_cancel_backend(pid) as done from pg_stat_activity where wait_event = 'SyncRep'";
  await expect.poll(() => primary.ask(cancel), patiently).toEqual([{ done: true }]);
}

const insert = (n: number) => sql`insert into kept values (${n})`;

const writes: [string, (n: number, acts: string[]) => Promise<unknown>][] = [
  ['a statement', (n) => database.run(insert(n))],
  [
    'a transaction',
    (n, acts) =>
      database.transaction(async (tx) => {
        tx.afterCommit(() => acts.push('afterCommit'));
        await tx.run(insert(n));
      }),
  ],
  [
    'a commit that goes with the last statement',
    (n, acts) =>
      database.transaction(async (tx) => {
        tx.afterCommit(() => acts.push('afterCommit'));
        await tx.last.run(insert(n));
        acts.push('after the last statement');
      }),
  ],
];

test.for(writes.map(([name, write], at) => ({ name, write, n: at + 1 })))(
  '$name whose wait for the standby is canceled has an unknown outcome, and a line in the log',
  async ({ write, n }) => {
    const acts: string[] = [];
    const outcome = write(n, acts).then(
      () => 'acknowledged',
      (error: unknown) => error,
    );
    await cancelWait();
    const error = await outcome;
    expect([isUnavailable(error), isOutcomeUnknown(error)]).toEqual([true, true]);
    expect(acts).toEqual([]);
    expect(log.lines).toMatchObject([{ level: 'error', event: 'commit_not_replicated' }]);
    // The row is visible on the primary, and the pool still works.
    expect(await database.rows(sql`select n from kept where n = ${n}`)).toEqual([{ n }]);
    await standby.resumeStreaming();
    expect(await database.run(insert(100 + n))).toBe(1);
  },
);

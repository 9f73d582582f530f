import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { connectClient } from '../../src/platform/database/connection.ts';
import { createKillSwitch, startKillPostgres } from '../support/kill-postgres.ts';
import { onServer } from '../support/run-postgres.ts';
import { openPostgresGround, type PostgresGround, type PostgresServer } from '../support/standby-postgres.ts';

let ground: PostgresGround;
let primary: PostgresServer;

beforeEach(async () => {
  ground = await openPostgresGround();
  primary = await ground.startPrimary();
  await onServer(primary.url, 'create table kept (n int primary key)');
  await write(primary.url, 1);
});
afterEach(() => ground.drop());

const write = (url: string, n: number): Promise<void> => onServer(url, `insert into kept values (${n})`);

async function readKept(url: string): Promise<number[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ n: number }>('select n from kept order by n');
  await client.end();
  return rows.map(({ n }) => n);
}

async function startStandby(): Promise<PostgresServer> {
  const standby = await primary.copyWhileRunning();
  await standby.startAsStandbyOf(primary, 'second');
  await standby.waitForReplay(primary);
  return standby;
}

const timelineOf = async (server: PostgresServer): Promise<number> =>
  (await server.ask<{ line: number }>('select timeline_id as line from pg_control_checkpoint()'))[0]?.line ?? 0;

test('an asynchronous standby that receives nothing loses at its promotion what was committed meanwhile', async () => {
  const standby = await startStandby();
  expect(await readKept(standby.url)).toEqual([1]);
  await expect(write(standby.url, 2)).rejects.toThrow('the server is a standby');
  await standby.pauseStreaming();
  await write(primary.url, 2);
  await primary.kill();
  await standby.promote();
  expect(await readKept(standby.url)).toEqual([1]);
  await write(standby.url, 3);
  expect(await readKept(standby.url)).toEqual([1, 3]);
});

test('one that streams again has everything', async () => {
  const standby = await startStandby();
  await standby.pauseStreaming();
  await write(primary.url, 2);
  expect(await readKept(standby.url)).toEqual([1]);
  await standby.resumeStreaming();
  await standby.waitForReplay(primary);
  expect(await readKept(standby.url)).toEqual([1, 2]);
});

test('a standby that lags in showing only has everything when it is promoted', async () => {
  const standby = await startStandby();
  await primary.makeSynchronous('second');
  await standby.pauseReplay();
  await write(primary.url, 2);
  expect(await readKept(standby.url)).toEqual([1]);
  await primary.kill();
  await standby.promote();
  expect(await readKept(standby.url)).toEqual([1, 2]);
});

test('with a synchronous standby nothing is acknowledged that it lacks, and nothing that was acknowledged is lost', async () => {
  const standby = await startStandby();
  await primary.makeSynchronous('second');
  await write(primary.url, 2);
  await standby.pauseStreaming();
  const unacknowledged = write(primary.url, 3).then(
    () => 'acknowledged',
    () => 'not acknowledged',
  );
  // Wait until the commit is blocked on the standby.
  while ((await primary.ask("select from pg_stat_activity where wait_event = 'SyncRep'")).length === 0);
  await primary.kill();
  expect(await unacknowledged).toBe('not acknowledged');
  await standby.promote();
  expect(await readKept(standby.url)).toEqual([1, 2]);
});

test('a primary that was killed goes on with all that it acknowledged, and may follow the one that took its place', async () => {
  const standby = await startStandby();
  await primary.kill();
  await primary.start();
  expect(await readKept(primary.url)).toEqual([1]);
  await write(primary.url, 2);
  await standby.waitForReplay(primary);
  await primary.stop();
  await standby.promote();
  await write(standby.url, 3);
  await primary.startAsStandbyOf(standby, 'first');
  await primary.waitForReplay(standby);
  expect(await readKept(primary.url)).toEqual([1, 2, 3]);
  await expect(write(primary.url, 4)).rejects.toThrow('the server is a standby');
});

test('a restored copy is a time before, on the same timeline or on its own', async () => {
  const [same, newTimeline] = [await primary.copyWhileRunning(), await primary.copyWhileRunning()];
  await write(primary.url, 2);
  await primary.kill();
  await same.start();
  expect(await readKept(same.url)).toEqual([1]);
  expect(await timelineOf(same)).toBe(1);
  await write(same.url, 3);
  expect(await readKept(same.url)).toEqual([1, 3]);
  await newTimeline.startOnNewTimeline();
  expect(await readKept(newTimeline.url)).toEqual([1]);
  await newTimeline.ask('checkpoint');
  expect(await timelineOf(newTimeline)).toBe(2);
});

test('what is written while the copy is taken is in it whole or not at all', async () => {
  let [n, goesOn] = [1, true];
  const writing = (async () => {
    while (goesOn) {
      n += 1;
      await write(primary.url, n);
    }
  })();
  const copy = await primary.copyWhileRunning();
  const written = n;
  goesOn = false;
  await writing;
  await copy.start();
  const found = await readKept(copy.url);
  expect(found).toEqual(found.map((_, index) => index + 1));
  expect(found.length).toBeGreaterThan(1);
  expect(found.length).toBeLessThanOrEqual(written);
});

test('behind one address the server can be exchanged', async () => {
  const wire = await startKillPostgres(primary.url, createKillSwitch());
  const client = await connectClient({ url: wire.url, statementTimeoutMs: 5_000 });
  const copy = await primary.copyWhileRunning();
  await write(wire.url, 2);
  await copy.start();
  wire.leadTo(copy.url);
  expect((await client.query('select from kept')).rowCount).toBe(2);
  expect(await readKept(wire.url)).toEqual([1]);
  wire.cut();
  await expect(client.query('select from kept')).rejects.toThrow();
  await wire.close();
});

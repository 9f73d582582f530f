import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { createKillSwitch, type KillPostgres, startKillPostgres } from '../support/kill-postgres.ts';
import { editListing, seedStock, seedVote } from '../support/seed.ts';
import { openPostgresGround, type PostgresServer } from '../support/standby-postgres.ts';
import { addressesOf, expectSame } from './same-bytes.ts';
import { openStage, processOn, type Stage } from './stage.ts';

/** Number of transactions that are lost or leave nothing on disk. */
const LOST = 300;
/**
 * Limit on retries of a round. The server flushes its log every ten seconds, and a flush would save the transactions that it should lose.
 */
const ROUNDS = 10;

let begun: AsyncDisposableStack;
let primary: PostgresServer;
let wire: KillPostgres;
let database: Database;
let stage: Stage;
let ids: bigint[];

beforeEach(async () => {
  begun = new AsyncDisposableStack();
  const ground = begun.adopt(await openPostgresGround(), (one) => one.drop());
  primary = await ground.startPrimary({ settings: { wal_writer_delay: '10s' } });
  await migrate(primary.url, MIGRATIONS);
  wire = begun.adopt(await startKillPostgres(primary.url, createKillSwitch()), (one) => one.close());
  database = begun.adopt(await openDatabase({ url: wire.url, poolSize: 4 }), (one) => one.close());
  stage = await openStage(database);
  ids = await seedStock(
    database,
    stage.sellers[0] ?? 0n,
    Array.from({ length: 6 }, (_, at) => ({ title: `Lamp ${at} map` })),
  );
});
afterEach(() => begun.disposeAsync());

const idAt = (at: number): bigint => ids[at] ?? 0n;
const voterAt = (at: number): bigint => stage.voters[at] ?? 0n;

/** Consumes transaction ids with empty transactions that commit or roll back. */
const takeIds = (on: Database, ending: 'commit' | 'rollback', count = LOST): Promise<number> =>
  on.run(sql([`do $$ begin for at in 1..${count} loop perform pg_current_xact_id(); ${ending}; end loop; end $$`]));

async function nextIdOf(on: Database): Promise<bigint> {
  const { id } = await on.one<{ id: string }>(sql`select pg_snapshot_xmax(pg_current_snapshot())::text as id`);
  return BigInt(id);
}

/** Votes and returns the transaction's id. */
async function vote(on: Database, at: number, voter: number): Promise<bigint> {
  await seedVote(on, idAt(at), voterAt(voter));
  const { id } = await on.one<{ id: string }>(sql`select max(xid)::text as id from catalog_changes`);
  return BigInt(id);
}

const loads = (market: ReturnType<typeof processOn>): number =>
  market.lines.filter(({ event }) => event === 'catalog_loaded').length;

/** Makes the server hide its position in the log, and so its timeline, from new connections. */
async function hideTimeline(): Promise<void> {
  await database.run(sql`
    create function public.pg_current_wal_lsn() returns pg_lsn language plpgsql as
      $$ begin raise exception 'wal_level must be set to logical' using errcode = '55000'; end $$`);
  await database.run(sql`alter database openaisle set search_path = public, pg_catalog`);
  database = begun.adopt(await openDatabase({ url: wire.url, poolSize: 4 }), (one) => one.close());
}

it.for(['tells', 'does not tell'])(
  'after a standby that lacked transactions took over, whose ids it gave once more and whose timeline it %s, a copy is the same as a new one',
  async (says) => {
    if (says === 'does not tell') await hideTimeline();
    const market = processOn(database);
    await market.catalog.fresh();
    const standby = await primary.copyWhileRunning();
    await standby.startAsStandbyOf(primary, 'second');
    await standby.waitForReplay(primary);
    await standby.pauseStreaming();
    await seedVote(database, idAt(1), voterAt(1));
    await editListing(database, idAt(2), { title: 'Lost lamp map' });
    await takeIds(database, 'commit');
    await market.catalog.fresh();
    const before = await nextIdOf(database);
    await primary.kill();
    await standby.promote();
    wire.leadTo(standby.url);
    wire.cut();
    const other = begun.adopt(await openDatabase({ url: standby.url, poolSize: 1 }), (one) => one.close());
    // A host may be slow to reconnect, and the new server has then already passed all of the ids.
    expect(await vote(other, 0, 0)).toBeLessThan(before);
    await takeIds(other, 'commit', 2 * LOST);
    expect(await nextIdOf(other)).toBeGreaterThan(before);
    await expectSame(market, processOn(database), addressesOf(ids));
    expect(market.catalog.model().columns.votes[Number(idAt(0))]).toBe(1);
    expect(market.catalog.model().columns.votes[Number(idAt(1))]).toBe(0);
    expect(loads(market)).toBe(2);
    // One change of server must cause only one load.
    await seedVote(other, idAt(3), voterAt(0));
    await expectSame(market, processOn(database), addressesOf(ids));
    expect(loads(market)).toBe(2);
  },
);

const CRASHES: Readonly<Record<string, () => Promise<void>>> = {
  'the whole server': async () => {
    await primary.kill();
    await primary.start();
  },
  // The postmaster ends all other sessions, recovers and continues, but its own start time stays the same.
  'one of its sessions': async () => {
    const starts = await startsOf(primary);
    const { pid } = await database.one<{ pid: number }>(sql`select pg_backend_pid() as pid`);
    process.kill(pid, 'SIGKILL');
    await expect.poll(() => startsOf(primary), { timeout: 20_000, interval: 20 }).toBe(starts + 1);
  },
};

const startsOf = async (server: PostgresServer): Promise<number> =>
  (await server.readLog()).split('ready to accept connections').length - 1;

it.for(Object.entries(CRASHES))(
  'after a crash of %s, which makes it give ids once more that left no trace, a copy is the same as a new one',
  async ([, crash]) => {
    const market = processOn(database);
    await market.catalog.fresh();
    for (let round = 1; round <= ROUNDS; round += 1) {
      await takeIds(database, 'rollback');
      await market.catalog.fresh();
      const before = await nextIdOf(database);
      await crash();
      wire.cut();
      const other = await openDatabase({ url: primary.url, poolSize: 1 });
      const reused = (await vote(other, round % 6, Math.floor(round / 6))) < before;
      await takeIds(other, 'commit', 2 * LOST);
      await other.close();
      await expectSame(market, processOn(database), addressesOf(ids));
      // The server lost no commit, so only the recorded changes are read.
      expect(loads(market)).toBe(1);
      if (reused) return;
    }
    throw new Error('the server gave no id twice');
  },
);

import type { Client } from 'pg';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createCatalog } from '../../src/market/catalog/catalog.ts';
import { applyFeed, type Follower } from '../../src/market/catalog/feed/apply-feed.ts';
import { loadModel } from '../../src/market/catalog/feed/load-model.ts';
import { createModel } from '../../src/market/catalog/model/model.ts';
import { systemClock, yieldToEventLoop } from '../../src/platform/clock.ts';
import { connectClient } from '../../src/platform/database/connection.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { testDatabase } from '../support/database.ts';
import { recordingLog } from '../support/recording-log.ts';
import { editListing, seedMerchant, seedStock, seedVote } from '../support/seed.ts';
import { processOn, ROOMY_BYTES } from './stage.ts';

const db = testDatabase();
let ids: bigint[];
let voter: bigint;
/** A single connection, so that the cost of a step can be read on the connection that ran it. */
let own: Database;
let elsewhere: Client;

beforeAll(async () => {
  const seller = (await seedMerchant(db.database)).id;
  voter = (await seedMerchant(db.database)).id;
  ids = await seedStock(
    db.database,
    seller,
    Array.from({ length: 20 }, (_, at) => ({ title: `Lamp ${at}` })),
  );
  own = await openDatabase({ url: db.url, poolSize: 1, applicationName: 'openaisle-follower', allowUnsafe: true });
  elsewhere = await connectClient({ url: db.url, applicationName: 'openaisle-test', statementTimeoutMs: 5_000 });
});
afterAll(async () => {
  await elsewhere.end();
  await own.close();
});

const idAt = (at: number): bigint => ids[at] ?? 0n;
const committed = (count: number): Promise<number> =>
  db.database.run(
    sql([
      `do $$ begin for at in 1..${count} loop insert into catalog_changes (listing_id) values (${idAt(0)}); commit; end loop; end $$`,
    ]),
  );

/** Returns the number of recorded changes that were scanned, including dead and invisible rows. */
async function countScannedChanges(): Promise<bigint> {
  await own.rows(sql`select pg_stat_force_next_flush()`);
  const { looked } = await db.database.one<{ looked: bigint }>(sql`
    select seq_tup_read + (select sum(idx_tup_read)::int8 from pg_stat_user_indexes where relname = 'catalog_changes') as looked
    from pg_stat_user_tables where relname = 'catalog_changes'`);
  return looked;
}

it('a transaction that is open elsewhere adds nothing to what a step looks at, and what it wrote is taken in when it is committed', async () => {
  const { catalog } = processOn(own);
  const votesOf = (at: number): number | undefined => catalog.model().columns.votes[Number(idAt(at))];
  const workOfStep = async (): Promise<bigint> => {
    await committed(2);
    const before = await countScannedChanges();
    await catalog.fresh();
    return (await countScannedChanges()) - before;
  };
  await committed(20);
  await catalog.fresh();
  const quiet = await workOfStep();
  expect(quiet).toBeGreaterThanOrEqual(2n);
  await elsewhere.query('begin');
  await elsewhere.query('insert into votes (listing_id, merchant_id, created_at) values ($1, $2, now())', [
    idAt(1),
    voter,
  ]);
  await elsewhere.query('insert into catalog_changes (listing_id) select 1 from generate_series(1, 500)');
  await catalog.fresh();
  await committed(100);
  await catalog.fresh();
  expect(await workOfStep()).toBe(quiet);
  expect(votesOf(1)).toBe(0);
  await elsewhere.query('commit');
  await catalog.fresh();
  expect(votesOf(1)).toBe(1);
  expect(await workOfStep()).toBe(quiet);
});

it('a database that was put back to before what is known is no base for a step', async () => {
  const { database } = db;
  const source = { database, followers: [], requestedIds: [] };
  const model = createModel({
    fragmentBytes: ROOMY_BYTES,
    deflatedBytes: ROOMY_BYTES,
    pageBytes: 0,
    giveWay: yieldToEventLoop,
  });
  const since = await loadModel(model, { ...source, reportProgress: () => {}, stopped: () => false });
  await editListing(database, idAt(2), { title: 'Of another history' });
  const ahead = 1_000_000_000_000n;
  expect(await applyFeed(model, { ...since, snapshot: `${ahead}:${ahead}:` }, source)).toBeNull();
  expect(await applyFeed(model, since, source)).not.toBeNull();
});

it('the mark of a server from which the database came as a dump does not make each step read everything', async () => {
  const market = processOn(own);
  await market.catalog.fresh();
  await db.database.run(sql`update catalog_state set kept_from = '1000000000000'::xid8`);
  await seedVote(db.database, idAt(3), voter);
  await market.catalog.fresh();
  expect(market.catalog.model().columns.votes[Number(idAt(3))]).toBe(1);
  expect(market.lines.filter(({ event }) => event === 'catalog_loaded')).toHaveLength(1);
});

it('a change that could be applied in part only is followed by a load of everything', async () => {
  let fails = false;
  const follower: Follower = {
    read: async () => () => {
      if (fails) throw new Error('a fault of our own');
    },
  };
  const { log, lines } = recordingLog();
  const catalog = createCatalog({
    database: own,
    clock: systemClock,
    log,
    memoryBytes: ROOMY_BYTES,
    followers: [follower],
  });
  await catalog.fresh();
  fails = true;
  await seedVote(db.database, idAt(4), voter);
  await expect(catalog.fresh()).rejects.toThrow('a fault of our own');
  fails = false;
  await catalog.fresh();
  expect(catalog.model().columns.votes[Number(idAt(4))]).toBe(1);
  expect(lines.filter(({ event }) => event === 'catalog_loaded')).toHaveLength(2);
});

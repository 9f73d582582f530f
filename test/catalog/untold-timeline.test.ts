import { raw } from 'sql-template-tag';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { MIGRATIONS } from '../../src/market/prepare-database.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { openDatabase } from '../../src/platform/database/open-database.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { createTestDatabase } from '../support/database.ts';
import { seedMerchant, seedStock, seedVote } from '../support/seed.ts';
import { addressesOf, expectSame } from './same-bytes.ts';
import { processOn } from './stage.ts';

const SILENCES: Readonly<Record<string, readonly string[]>> = {
  'has lost the right to the position in the log': ['revoke execute on function pg_current_wal_lsn() from public'],
  'has lost the right to the name of a log file': ['revoke execute on function pg_walfile_name(pg_lsn) from public'],
  'uses a server that keeps no such log': [
    `create function public.pg_current_wal_lsn() returns pg_lsn language plpgsql as
      $$ begin raise exception 'wal_level must be set to logical' using errcode = '55000'; end $$`,
  ],
  'uses a server that knows no such function': [
    `create function public.pg_walfile_name(pg_lsn) returns text language plpgsql as
      $$ begin raise exception 'not supported' using errcode = '0A000'; end $$`,
  ],
};

let begun: AsyncDisposableStack;
let admin: Database;
/** URL for the owner of the database, who is not a superuser. */
let url: string;

beforeEach(async () => {
  begun = new AsyncDisposableStack();
  const made = begun.adopt(await createTestDatabase({ migrated: false }), (one) => one.drop());
  admin = made.database;
  const role = `openaisle_role_${systemRandom.bytes(8).toString('hex')}`;
  const name = new URL(made.url).pathname.slice(1);
  await admin.run(raw(`create role ${role} login password 'only-for-a-test'`));
  await admin.run(raw(`alter database ${name} owner to ${role}`));
  // A function in the database now shadows the server's own.
  await admin.run(raw(`alter role ${role} in database ${name} set search_path = public, pg_catalog`));
  begun.defer(async () => {
    await admin.run(raw(`reassign owned by ${role} to current_user`));
    await admin.run(raw(`drop role ${role}`));
  });
  const address = new URL(made.url);
  address.username = role;
  address.password = 'only-for-a-test';
  url = address.href;
});
afterEach(() => begun.disposeAsync());

async function silence(statements: readonly string[]): Promise<void> {
  for (const statement of statements) await admin.run(raw(statement));
}

async function open(at: string): Promise<Database> {
  return begun.adopt(await openDatabase({ url: at, poolSize: 2, allowUnsafe: true }), (one) => one.close());
}

async function seedLamps(database: Database): Promise<{ ids: bigint[]; voter: bigint }> {
  const seller = await seedMerchant(database);
  const ids = await seedStock(database, seller.id, [{ title: 'Lamp' }, { title: 'Shade' }]);
  return { ids, voter: (await seedMerchant(database)).id };
}

it.for(Object.entries(SILENCES))('a role that %s migrates, opens, locks, and follows the catalog', async ([, how]) => {
  await silence(how);
  expect(await migrate(url, MIGRATIONS)).not.toEqual([]);
  const twice = url.replace(/@([^/?]*)/, '@$1,$1');
  const [database, ofSeveral] = [await open(url), await open(twice)];
  for (const one of [database, ofSeveral])
    expect(await one.withAdvisoryLock('lead', async () => 'held')).toEqual({ value: 'held' });
  const { ids, voter } = await seedLamps(database);
  const market = processOn(database);
  await market.catalog.fresh();
  await seedVote(database, ids[0] ?? 0n, voter);
  await market.catalog.fresh();
  expect(market.catalog.model().columns.votes[Number(ids[0])]).toBe(1);
  expect(market.lines.filter(({ event }) => event === 'catalog_loaded')).toHaveLength(1);
  await expectSame(market, processOn(ofSeveral), addressesOf(ids));
});

it('a server that tells its timeline no longer is gone on with, by one load', async () => {
  await migrate(url, MIGRATIONS);
  const database = await open(url);
  const { ids, voter } = await seedLamps(database);
  const market = processOn(database);
  await market.catalog.fresh();
  await silence(SILENCES['has lost the right to the position in the log'] ?? []);
  await seedVote(database, ids[0] ?? 0n, voter);
  await market.catalog.fresh();
  await seedVote(database, ids[1] ?? 0n, voter);
  await market.catalog.fresh();
  expect(market.lines.filter(({ event }) => event === 'catalog_loaded')).toHaveLength(2);
  await expectSame(market, processOn(database), addressesOf(ids));
});

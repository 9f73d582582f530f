import sql from 'sql-template-tag';
import { it } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { onServer } from '../support/run-postgres.ts';
import { seedMerchant, seedStock } from '../support/seed.ts';
import { addressesOf, expectSame } from './same-bytes.ts';
import { processOn } from './stage.ts';

/** Number of rows, more than fit in the first answer. */
const MANY = 201;
const TABLES = ['listings', 'purchases', 'catalog_changes', 'merchants'];
/** Number of times that PostgreSQL plans a statement for its parameters before it may keep a generic plan. */
const PLANNED_ANEW = 6;

// A single connection plans all steps.
const db = testDatabase({ poolSize: 1 });

it('thousands of listings at once do not wait for a plan that was made while the tables were empty', async () => {
  const { database } = db;
  // Disable autovacuum, because statistics from an analysis would improve the bad plan.
  await onServer(db.url, TABLES.map((table) => `alter table ${table} set (autovacuum_enabled = false)`).join(';'));
  const seller = (await seedMerchant(database)).id;
  const list = (count: number) =>
    seedStock(
      database,
      seller,
      Array.from({ length: count }, (_, at) => ({ title: `Lamp ${at} map` })),
    );
  const process = processOn(database);
  await process.catalog.fresh();
  await process.catalog.searchable();
  for (let time = 0; time < PLANNED_ANEW; time += 1) {
    await list(50);
    await process.catalog.fresh();
    await database.run(
      sql`insert into catalog_changes (listing_id) select at from generate_series(1, ${MANY}::int4) at`,
    );
    await process.catalog.fresh();
  }
  const [first] = await list(4_000);
  // This must be done within the five seconds of the statement timeout.
  await process.catalog.fresh();
  await expectSame(process, processOn(database), addressesOf([first ?? 0n], ['/api/shelves?limit=50']));
}, 60_000);

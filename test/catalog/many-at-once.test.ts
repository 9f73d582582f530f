import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../support/database.ts';
import { settableClock } from '../support/market-context.ts';
import { seedEvent, seedMerchant, seedStock } from '../support/seed.ts';
import { addressesOf, expectSame } from './same-bytes.ts';
import { openStage, processOn, type Stage } from './stage.ts';

const db = testDatabase({ inventedEvents: true });
const clock = settableClock(Date.UTC(2026, 0, 6));
let stage: Stage;
beforeAll(async () => {
  stage = await openStage(db.database);
});

it.each([
  ['fewer than come with the first answer', 199],
  ['as many as come with the first answer', 200],
  ['more than come with the first answer', 201],
])('%s, changed by one commit together with the log, are taken in at once and whole', async (_what, count) => {
  const { database } = db;
  const ids = await seedStock(
    database,
    stage.sellers[0] ?? 0n,
    Array.from({ length: count }, (_, at) => ({ title: `Lamp ${at}` })),
  );
  const process = processOn(database, { clock });
  await process.catalog.fresh();
  await process.catalog.searchable();
  const before = process.catalog.model().version;
  const voter = (await seedMerchant(database)).id;
  await process.catalog.fresh();
  await database.run(sql`
    insert into votes (listing_id, merchant_id, created_at) select id, ${voter}, now() from unnest(${ids}::int8[]) as id`);
  await seedEvent(database, 'listing', { listing_id: Number(ids[0]) });
  await process.catalog.fresh();
  // The merchant causes one version, and everything else together causes one more.
  expect(process.catalog.model().version).toBe(before + 2);
  await expectSame(process, processOn(database, { clock }), addressesOf(ids.slice(0, 3), ['/api/shelves?sort=karma']));
});

import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { endpoints } from '../../src/contract/index.ts';
import { makeGetListing } from '../../src/market/catalog/get-listing.ts';
import { appealRemoval, decideAppeal, readRemovalNotices } from '../../src/market/moderation/appeals.ts';
import { migrate } from '../../src/platform/database/migrate.ts';
import { ask } from '../support/ask.ts';
import { testDatabase } from '../support/database.ts';
import { act } from '../support/listing-life.ts';
import { marketContext } from '../support/market-context.ts';
import { type SeededMerchant, seedListing, seedMerchant, withdrawListing } from '../support/seed.ts';

// Upgrades a market that was created before appeals, comments and versions existed.

const db = testDatabase({ migrated: false });
const whole = fileURLToPath(new URL('../../migrations/market', import.meta.url));
let before: string;
beforeAll(async () => {
  before = await mkdtemp(join(tmpdir(), 'openaisle-before-'));
  for (const name of await readdir(whole)) {
    if (name < '0010') await cp(join(whole, name), join(before, name));
  }
});
afterAll(() => rm(before, { recursive: true }));

const remove = (id: bigint, day: number) =>
  db.database.run(sql`
    update listings set state = 'removed', removed_reason_code = 'policy', removed_reason = ${`on day ${day}`},
      removed_at = ${new Date(Date.UTC(2026, 1, day))} where id = ${id}`);

it('what was removed before can be appealed against afterwards, and comes back as it was', async () => {
  const { database } = db;
  expect(await migrate(db.url, before)).toHaveLength(9);
  const keeper = await seedMerchant(database);
  const seller: SeededMerchant = await seedMerchant(database);
  const made = async (title: string, pinned = false) =>
    (await seedListing(database, seller.id, { title, pinned, priceUnits: 1_000_000n })).id;
  const [live, gone, withdrawn, both] = [
    await made('Stays'),
    await made('Came later', true),
    await made('Was withdrawn'),
    await made('Was both'),
  ];
  await withdrawListing(database, withdrawn);
  await withdrawListing(database, both);
  await remove(gone, 20);
  await remove(both, 10);
  // The update moves this row to the end of the table, so that rows are not read in the order of insertion.
  await database.run(sql`update listings set pinned = pinned where id = ${both}`);
  expect((await migrate(db.url, whole))[0]).toBe('0010-market-life');

  const market = marketContext({ database });
  const detail = async (id: bigint) =>
    (await ask(market, endpoints.getListing, makeGetListing(market.catalog), { params: { id: id.toString() } }))
      .listing;
  expect(await detail(live)).toMatchObject({ state: 'live', appeal: null, supersedes: null, text_flags: [] });
  expect(await detail(gone)).toMatchObject({ state: 'removed', title: 'Removed by the maintainer', appeal: null });
  const notices = await readRemovalNotices(database, seller.id);
  expect(notices.map(({ listing_id, reason }) => [listing_id, reason])).toEqual([
    [Number(gone), 'on day 20'],
    [Number(both), 'on day 10'],
  ]);
  for (const [id, state, title] of [
    [gone, 'live', 'Came later'],
    [both, 'withdrawn', 'Was both'],
  ] as const) {
    const { appeal } = await act(market, endpoints.appealRemoval, appealRemoval, {
      body: { listing_id: Number(id), statement: 'It was good' },
      caller: seller,
    });
    const { listing } = await act(market, endpoints.decideAppeal, decideAppeal, {
      body: { appeal_id: appeal.id, outcome: 'restored', reason: 'It was' },
      caller: keeper,
    });
    expect(listing).toMatchObject({ state, title, pinned: id === gone, preview: 'A look at it', removed: false });
  }
  expect(await readRemovalNotices(database, seller.id)).toEqual([]);
  const rows = await database.rows(sql`select 1 from removals where restored_at is null`);
  expect(rows).toEqual([]);
});

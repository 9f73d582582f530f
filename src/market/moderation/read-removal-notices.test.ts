import sql from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { testDatabase } from '../../../test/support/database.ts';
import { act } from '../../../test/support/listing-life.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import {
  removeListing as removeInTable,
  type SeededMerchant,
  seedListing,
  seedMerchant,
  seedStock,
} from '../../../test/support/seed.ts';
import { type AppealOutcome, removalNotice } from '../../contract/appeals.ts';
import { endpoints } from '../../contract/index.ts';
import type { Market } from '../context.ts';
import { appealRemoval, decideAppeal, readRemovalNotices } from './appeals.ts';
import { removeListing } from './remove-listing.ts';

const db = testDatabase();
let market: Market;
let keeper: SeededMerchant;

beforeAll(async () => {
  market = marketContext({ database: db.database });
  keeper = await seedMerchant(db.database);
});

const remove = (id: bigint, reason: string) =>
  act(market, endpoints.removeListing, removeListing, {
    body: { listing_id: Number(id), reason_code: 'fraud', reason },
    caller: keeper,
  });
const appeal = async (id: bigint, caller: SeededMerchant) => {
  const body = { listing_id: Number(id), statement: 'It is good' };
  return (await act(market, endpoints.appealRemoval, appealRemoval, { body, caller })).appeal;
};
const decide = async (id: number, outcome: AppealOutcome) => {
  const body = { appeal_id: id, outcome, reason: 'Looked at again' };
  return (await act(market, endpoints.decideAppeal, decideAppeal, { body, caller: keeper })).appeal;
};
const noticesOf = async ({ id }: SeededMerchant) =>
  removalNotice.array().parse(await readRemovalNotices(db.database, id));
const createListing = async ({ id }: SeededMerchant): Promise<bigint> => (await seedListing(db.database, id)).id;

it('names the removed listings of the merchant, the newest removal first, with reason and the way to appeal', async () => {
  const seller = await seedMerchant(db.database);
  const [first, second] = [await createListing(seller), await createListing(seller)];
  await createListing(seller);
  const stranger = await seedMerchant(db.database);
  await remove(await createListing(stranger), 'of another merchant');
  expect(await noticesOf(seller)).toEqual([]);
  await remove(second, 'It holds nothing');
  const { listing } = await remove(first, 'Nor does it');
  const told = await noticesOf(seller);
  expect(told).toEqual([
    {
      listing_id: Number(first),
      reason_code: 'fraud',
      reason: 'Nor does it',
      removed_at: listing.removed_at,
      appeal: null,
      how_to_appeal: expect.stringMatching(/POST \/api\/appeal .*listing_id.*statement/),
    },
    expect.objectContaining({ listing_id: Number(second), reason: 'It holds nothing', appeal: null }),
  ]);
});

it('shows the appeal, then its outcome; a restored listing is in it no more, and after a second removal it can be appealed', async () => {
  const seller = await seedMerchant(db.database);
  const [upheld, restored] = [await createListing(seller), await createListing(seller)];
  for (const id of [upheld, restored]) await remove(id, 'x');
  const one = await appeal(upheld, seller);
  expect(await noticesOf(seller)).toMatchObject([
    { listing_id: Number(restored), appeal: null, how_to_appeal: expect.any(String) },
    { listing_id: Number(upheld), appeal: one, how_to_appeal: null },
  ]);
  const decided = await decide(one.id, 'removal_upheld');
  await decide((await appeal(restored, seller)).id, 'restored');
  expect(await noticesOf(seller)).toMatchObject([{ listing_id: Number(upheld), appeal: decided, how_to_appeal: null }]);
  await remove(restored, 'once more');
  expect(await noticesOf(seller)).toMatchObject([
    { listing_id: Number(restored), reason: 'once more', appeal: null, how_to_appeal: expect.any(String) },
    { listing_id: Number(upheld) },
  ]);
});

it('names 200 at most', async () => {
  const seller = await seedMerchant(db.database);
  const stock = Array.from({ length: 201 }, (_, n) => ({ title: `Goods ${n}` }));
  const ids = await seedStock(db.database, seller.id, stock);
  for (const id of ids) await removeInTable(db.database, id);
  expect((await noticesOf(seller)).map((notice) => notice.listing_id)).toEqual(ids.slice(1).reverse().map(Number));
});

it('tells of the removal in force as the listing itself does', async () => {
  const rows = await db.database.rows(sql`
    select l.id from listings l full join removals r on r.listing_id = l.id and r.restored_at is null
    where r.restored_at is null and ((l.state = 'removed') <> (r.id is not null)
      or (r.reason_code, r.reason, r.removed_at) is distinct from (l.removed_reason_code, l.removed_reason, l.removed_at))`);
  expect(rows).toEqual([]);
});

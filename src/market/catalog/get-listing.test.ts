import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { ask, reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { removeListing, seedListing, seedMerchant, withdrawListing } from '../../../test/support/seed.ts';
import { checksummed } from '../../contract/chain-values.ts';
import { endpoints } from '../../contract/index.ts';
import { makeGetListing } from './get-listing.ts';
import { REMOVAL_NOTICE, readListingDetail, USUAL_JSON } from './present-listing.ts';

const db = testDatabase();
const market = () => marketContext({ database: db.database });
const get = (id: bigint | string, query: { comments_limit?: string; comments_after_id?: string } = {}) => {
  const on = market();
  return ask(on, endpoints.getListing, makeGetListing(on.catalog), { params: { id: String(id) }, query });
};

it('what a usual listing has in common with all others stands in one piece', async () => {
  const merchant = await seedMerchant(db.database, { handle: 'usual' });
  const { id } = await seedListing(db.database, merchant.id, { title: 'Ten prompts', artifact: 'the hidden goods' });
  const { catalog } = market();
  await catalog.fresh();
  expect(Buffer.from(catalog.model().fragments.view(Number(id)) ?? []).toString()).toContain(USUAL_JSON);
});

it('shows every public field of a live listing, and where to buy instead of the goods', async () => {
  const merchant = await seedMerchant(db.database, { handle: 'alice' });
  const wallet = '0xabcdef0123456789abcdef0123456789abcdef01';
  const { id } = await seedListing(db.database, merchant.id, {
    wallet,
    title: 'Ten prompts',
    priceUnits: 1_230_001n,
    tags: ['a', 'b'],
    keywords: ['csv', 'a need'],
    aisle: 'prompts',
    artifact: 'the hidden goods',
  });
  const answer = await get(id, { comments_limit: '7' });
  expect(answer).toMatchObject({
    comments: [],
    comments_total: 0,
    comments_returned: 0,
    comments_page_size: 7,
    comments_has_more: false,
    comments_next_after_id: null,
    artifact: `Purchase required: POST /api/buy/${id} delivers the artifact.`,
    listing: {
      id: Number(id),
      merchant: 'alice',
      title: 'Ten prompts',
      store_url: '/api/store/alice',
      price_usdc: 1.230001,
      seller_wallet: checksummed(wallet),
      tags: ['a', 'b'],
      keywords: ['csv', 'a need'],
      aisle: 'prompts',
      votes: 0,
      sales: 0,
      state: 'live',
      delivery_kind: 'artifact',
      city_url: null,
      world_state: null,
      requires_city_resident: false,
      artifact_bytes: 16,
      removed: false,
      removed_at: null,
      withdrawn: false,
      withdrawn_at: null,
    },
  });
  expect(JSON.stringify(answer)).not.toContain('the hidden goods');
  expect(await readListingDetail(db.database, id)).toEqual(answer.listing);
});

it('shows a removed listing with a notice for a title, no text of its merchant and no way to buy', async () => {
  const merchant = await seedMerchant(db.database);
  const { id } = await seedListing(db.database, merchant.id, { tags: ['hidden-too'], keywords: ['rude-words'] });
  await db.database.run(sql`
    update listings set license = 'LicenseRef-rude-words', artifact_media_type = 'text/rude-words' where id = ${id}`);
  await withdrawListing(db.database, id);
  await removeListing(db.database, id);
  const { listing, artifact } = await get(id);
  expect(listing).toMatchObject({
    title: REMOVAL_NOTICE,
    description: '',
    preview: '',
    tags: [],
    keywords: [],
    license: null,
    artifact_media_type: null,
    withdrawn: true,
    withdrawn_reason: null,
    state: 'removed',
    removed: true,
    removed_reason: 'not allowed',
    removed_reason_code: 'policy',
  });
  expect(artifact).toMatch(/^Unavailable/);
  expect(await readListingDetail(db.database, id)).toEqual(listing);
  expect(JSON.stringify(listing)).not.toContain('rude-words');
});

it('shows a withdrawn listing as it was, and says that it is no longer for sale', async () => {
  const merchant = await seedMerchant(db.database);
  const { id } = await seedListing(db.database, merchant.id, { title: 'Old goods' });
  await withdrawListing(db.database, id);
  const { listing, artifact } = await get(id);
  expect(listing).toMatchObject({
    title: 'Old goods',
    state: 'withdrawn',
    withdrawn: true,
    withdrawn_reason: 'enough',
  });
  expect(artifact).toMatch(/^Unavailable/);
});

it('answers 404 for a listing that is not there, and refuses a cursor that names no comment', async () => {
  expect(await reasonOf(get('999999'))).toBe('not_found');
  expect(await reasonOf(get('9999999999999999'))).toBe('not_found');
  const merchant = await seedMerchant(db.database);
  const { id } = await seedListing(db.database, merchant.id);
  expect(await reasonOf(get(id, { comments_after_id: '1' }))).toBe('cursor_invalid');
});

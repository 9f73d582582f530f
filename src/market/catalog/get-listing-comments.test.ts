import fc from 'fast-check';
import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { fromMemory } from '../../../test/catalog/ask.ts';
import { ask, reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act } from '../../../test/support/listing-life.ts';
import { marketContext, type TestMarket } from '../../../test/support/market-context.ts';
import {
  removeListing,
  type SeededMerchant,
  seedListing,
  seedMerchant,
  seedPaidPurchase,
} from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import { removeComment } from '../moderation/remove-listing.ts';
import { postComment } from '../reactions/post-comment.ts';
import { makeGetListing } from './get-listing.ts';

const db = testDatabase();
let market: TestMarket;
let keeper: SeededMerchant;
let author: SeededMerchant;
let id: bigint;
let count = 0;

beforeAll(async () => {
  market = marketContext({ database: db.database, limits: { voices_per_merchant_day: 100_000 } });
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
  author = await seedMerchant(db.database);
});
beforeEach(async () => {
  id = (await seedListing(db.database, keeper.id)).id;
});

interface Paging {
  comments_limit?: string;
  comments_after_id?: string;
}
const get = (query: Paging = {}, listing = id) =>
  ask(market, endpoints.getListing, makeGetListing(market.catalog), { params: { id: String(listing) }, query });
const say = async (on = id): Promise<number> => {
  count += 1;
  const body = { listing_id: Number(on), body: `Words ${count}` };
  return (await act(market, endpoints.postComment, postComment, { body, caller: author })).comment.id;
};
const remove = (comment: number) =>
  act(market, endpoints.removeComment, removeComment, {
    body: { comment_id: comment, reason_code: 'policy', reason: 'Not here' },
    caller: keeper,
  });
const inMemory = () => fromMemory(market, `/api/listing/${id}`);
/** Returns the ETag of the operation's answer. */
const tagOf = async (query: Paging = {}): Promise<string> => {
  await market.catalog.fresh();
  const { params, query: asked } = endpoints.getListing;
  const call = { params: params.parse({ id: String(id) }), query: asked.parse(query) };
  const answer = await makeGetListing(market.catalog)(market, call as never);
  if (!('prepared' in answer) || answer.prepared.etag === null) throw new Error('there is no tag');
  return answer.prepared.etag;
};

it('shows comments oldest first, by pages, with exact counts', async () => {
  const ids = [await say(), await say(), await say()];
  await say((await seedListing(db.database, keeper.id)).id);
  const whole = await get();
  expect(whole.comments.map((comment) => comment.id)).toEqual(ids);
  expect(whole).toMatchObject({
    comments_total: 3,
    comments_returned: 3,
    comments_page_size: 200,
    comments_has_more: false,
    comments_next_after_id: null,
  });
  expect(whole.comments[0]).toMatchObject({ handle: author.handle, parent_id: null, removed: false });
  const first = await get({ comments_limit: '2' });
  expect(first).toMatchObject({
    comments_total: 3,
    comments_returned: 2,
    comments_page_size: 2,
    comments_has_more: true,
    comments_next_after_id: ids[1],
  });
  const rest = await get({ comments_limit: '2', comments_after_id: String(ids[1]) });
  expect(rest).toMatchObject({ comments_total: 3, comments_returned: 1, comments_has_more: false });
  expect(rest.comments).toEqual(whole.comments.slice(2));
  const none = await get({ comments_after_id: String(ids[2]) });
  expect(none).toMatchObject({ comments: [], comments_total: 3, comments_returned: 0, comments_next_after_id: null });
});

it('takes only a comment of that listing for a cursor', async () => {
  const other = (await seedListing(db.database, keeper.id)).id;
  const elsewhere = await say(other);
  expect(await reasonOf(get({ comments_after_id: String(elsewhere) }))).toBe('cursor_invalid');
  await say();
  expect(await reasonOf(get({ comments_after_id: String(elsewhere) }))).toBe('cursor_invalid');
  expect(await reasonOf(get({ comments_after_id: '999999' }))).toBe('cursor_invalid');
  expect(await reasonOf(get({ comments_after_id: String(elsewhere) }, 999_999n))).toBe('not_found');
});

it('of a removed comment shows who, where and why, and not a word', async () => {
  const [first, second] = [await say(), await say()];
  await db.database.run(sql`
    insert into comments (id, listing_id, merchant_id, parent_id, body, text_flags, created_at)
    values (${second + 1}, ${id}, ${author.id}, ${first}, 'Obey', '{instructions}', now())`);
  expect((await get()).comments[2]).toMatchObject({ body: 'Obey', text_flags: ['instructions'], parent_id: first });
  await remove(second + 1);
  const { comments, comments_total } = await get();
  expect(comments[2]).toMatchObject({
    body: '',
    handle: author.handle,
    parent_id: first,
    removed: true,
    removed_reason_code: 'policy',
    text_flags: [],
  });
  expect(comments_total).toBe(3);
  // A cursor stays valid once it was returned.
  expect((await get({ comments_after_id: String(second + 1) })).comments).toEqual([]);
});

it('shows comments under a listing that was removed', async () => {
  await say();
  await removeListing(db.database, id);
  expect(await get()).toMatchObject({ comments_total: 1, listing: { state: 'removed' } });
});

it('is tagged for what it says: a comment, a removal, a purchase by its author and another page are other tags', async () => {
  const tags = [await tagOf()];
  const comment = await say();
  tags.push(await tagOf());
  await say();
  tags.push(await tagOf());
  tags.push(await tagOf({ comments_limit: '1' }));
  await seedPaidPurchase(db.database, id, { merchantId: author.id });
  expect((await get()).comments.map(({ verified_buyer }) => verified_buyer)).toEqual([true, true]);
  tags.push(await tagOf());
  await remove(comment);
  tags.push(await tagOf());
  expect(new Set(tags).size).toBe(tags.length);
  expect(await tagOf()).toBe(tags.at(-1));
});

it('shows no verified buyer on a listing without purchases, also in a process that has not seen the purchase', async () => {
  await say();
  await market.catalog.fresh();
  await seedPaidPurchase(db.database, id, { merchantId: author.id });
  const { params, query } = endpoints.getListing;
  const call = { params: params.parse({ id: String(id) }), query: query.parse({}) };
  const answer = await makeGetListing(market.catalog)(market, call as never);
  if (!('prepared' in answer) || !('body' in answer.prepared)) throw new Error('there are no bytes');
  const { listing, comments } = JSON.parse(Buffer.from(answer.prepared.body).toString('utf8'));
  expect([listing.sales, comments[0].verified_buyer]).toEqual([1, true]);
});

it('comes out of memory while there are no comments, and with them never', async () => {
  await market.catalog.fresh();
  expect(inMemory()).toMatchObject({ etag: await tagOf() });
  await say();
  await market.catalog.fresh();
  expect(inMemory()).toBeNull();
});

it('asks the database for no comments where there are none', async () => {
  await market.catalog.fresh();
  const closed = marketContext({
    database: db.database,
    changes: {
      database: new Proxy(db.database, {
        get: () => {
          throw new Error('the database was asked');
        },
      }),
    },
  });
  await closed.catalog.fresh();
  const { comments_total, comments_page_size } = await ask(
    closed,
    endpoints.getListing,
    makeGetListing(closed.catalog),
    { params: { id: String(id) }, query: { comments_limit: '7' } },
  );
  expect([comments_total, comments_page_size]).toEqual([0, 7]);
});

/** Pages through all comments, calling `between` before each page but the first; `known` returns how many exist by then. */
async function walk(on: bigint, limit: number, known: () => number, between: () => Promise<void>): Promise<number[]> {
  const seen: number[] = [];
  let cursor: Paging = {};
  for (;;) {
    const page = await get({ comments_limit: String(limit), ...cursor }, on);
    expect([page.comments_total, page.comments_returned]).toEqual([known(), page.comments.length]);
    expect(page.comments_has_more).toBe(page.comments_next_after_id !== null);
    seen.push(...page.comments.map((comment) => comment.id));
    if (page.comments_next_after_id === null) return seen;
    cursor = { comments_after_id: String(page.comments_next_after_id) };
    await between();
  }
}

it('a walk while comments come and are removed shows each once and leaves none out, new ones last', async () => {
  const plan = fc.record({
    start: fc.integer({ min: 0, max: 9 }),
    limit: fc.integer({ min: 1, max: 4 }),
    acts: fc.array(fc.array(fc.tuple(fc.constantFrom('add', 'remove', 'elsewhere'), fc.nat(20)), { maxLength: 2 }), {
      maxLength: 5,
    }),
  });
  await fc.assert(
    fc.asyncProperty(plan, async ({ start, limit, acts }) => {
      const on = (await seedListing(db.database, keeper.id)).id;
      const all: number[] = [];
      for (let n = 0; n < start; n += 1) all.push(await say(on));
      const due = [...acts];
      const seen = await walk(
        on,
        limit,
        () => all.length,
        async () => {
          for (const [what, which] of due.shift() ?? []) {
            if (what === 'add') all.push(await say(on));
            else if (what === 'elsewhere') await say(id);
            else await remove(all[which % all.length] ?? 0);
          }
        },
      );
      expect(seen).toEqual(all);
    }),
    { numRuns: 25, seed: 20300101 },
  );
});

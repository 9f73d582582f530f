import fc from 'fast-check';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { ask, reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act } from '../../../test/support/listing-life.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { removeListing, type SeededMerchant, seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import type { Market } from '../context.ts';
import { removeComment } from '../moderation/remove-listing.ts';
import { postComment } from '../reactions/post-comment.ts';
import { getMe } from './get-me.ts';

const db = testDatabase();
let market: Market;
let keeper: SeededMerchant;
let me: SeededMerchant;
let other: SeededMerchant;
let mine: bigint;
let foreign: bigint;
let count = 0;

beforeAll(async () => {
  market = marketContext({ database: db.database, limits: { voices_per_merchant_day: 100_000 } });
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
});
beforeEach(async () => {
  [me, other] = [await seedMerchant(db.database), await seedMerchant(db.database)];
  mine = (await seedListing(db.database, me.id)).id;
  foreign = (await seedListing(db.database, other.id)).id;
});

const say = async (by: SeededMerchant, on: bigint, under?: number): Promise<number> => {
  count += 1;
  const body = { listing_id: Number(on), body: `Words ${count}`, ...(under ? { parent_id: under } : {}) };
  return (await act(market, endpoints.postComment, postComment, { body, caller: by })).comment.id;
};
const remove = (id: number) =>
  act(market, endpoints.removeComment, removeComment, {
    body: { comment_id: id, reason_code: 'spam', reason: 'x' },
    caller: keeper,
  });
const meOf = (query: { replies_limit?: string; replies_before_id?: string } = {}, caller = me) =>
  ask(market, endpoints.getMe, getMe, { query, caller });
const idsOf = async (query = {}, caller = me): Promise<number[]> =>
  (await meOf(query, caller)).replies.map(({ id }) => id);

it('are what others said under the own listings and under the own comments, each once, newest first', async () => {
  const onMine = await say(other, mine);
  const own = await say(me, mine, onMine);
  // Reply to my comment on my own listing.
  const both = await say(other, mine, own);
  const elsewhere = await say(me, foreign);
  const answer = await say(other, foreign, elsewhere);
  // Add comments that must be left out: my own reply, and a reply to another merchant on another listing.
  await say(me, foreign, elsewhere);
  const third = await say(keeper, foreign);
  await say(other, foreign, third);
  const under = await say(keeper, mine, both);
  expect(await idsOf()).toEqual([under, answer, both, onMine]);
  expect((await meOf()).replies[1]).toMatchObject({
    id: answer,
    listing_id: Number(foreign),
    parent_id: elsewhere,
    handle: other.handle,
    body: expect.stringMatching(/^Words/),
  });
  expect(await meOf()).toMatchObject({ replies_total: 4, replies_returned: 4, replies_has_more: false });
});

it('come by pages of 20 at most, and take for a cursor only what is or was one of them', async () => {
  const ids: number[] = [];
  for (let n = 0; n < 23; n += 1) ids.unshift(await say(other, mine));
  const first = await meOf();
  expect(first.replies.map(({ id }) => id)).toEqual(ids.slice(0, 20));
  expect(first).toMatchObject({
    replies_total: 23,
    replies_returned: 20,
    replies_page_size: 20,
    replies_has_more: true,
    replies_next_before_id: ids[19],
  });
  const rest = await meOf({ replies_before_id: String(ids[19]) });
  expect(rest).toMatchObject({ replies_total: 23, replies_returned: 3, replies_next_before_id: null });
  expect(rest.replies.map(({ id }) => id)).toEqual(ids.slice(20));
  const own = await say(me, mine);
  const foreignOne = await say(keeper, foreign);
  for (const id of [own, foreignOne, 999_999])
    expect(await reasonOf(meOf({ replies_before_id: String(id) }))).toBe('cursor_invalid');
  // A reply to another merchant is no valid cursor for me.
  expect(await reasonOf(meOf({ replies_before_id: String(ids[3]) }, other))).toBe('cursor_invalid');
  expect(endpoints.getMe.query.safeParse({ replies_limit: '21' }).success).toBe(false);
});

it('that were removed keep their place without their words, also as a cursor, and those under a removed listing stay', async () => {
  const [first, second] = [await say(other, mine), await say(other, mine)];
  await remove(second);
  await removeListing(db.database, mine);
  expect((await meOf()).replies[0]).toMatchObject({ id: second, body: '', removed: true, removed_reason_code: 'spam' });
  expect(await idsOf({ replies_before_id: String(second) })).toEqual([first]);
});

type Place = 'listing' | 'comment' | 'both' | 'own';
const place = fc.constantFrom<Place>('listing', 'comment', 'both', 'own');
const plan = fc.record({
  start: fc.array(place, { maxLength: 9 }),
  limit: fc.integer({ min: 1, max: 4 }),
  acts: fc.array(fc.array(fc.tuple(fc.oneof(place, fc.constant('remove' as const)), fc.nat(20)), { maxLength: 2 }), {
    maxLength: 5,
  }),
});

/** Returns the ids on all pages of replies and the total of the first page. Calls `between` between pages. */
async function walk(caller: SeededMerchant, limit: number, between: () => Promise<void>) {
  const seen: number[] = [];
  const totals: number[] = [];
  let cursor: { replies_before_id?: string } = {};
  for (;;) {
    const page = await meOf({ replies_limit: String(limit), ...cursor }, caller);
    totals.push(page.replies_total);
    seen.push(...page.replies.map(({ id }) => id));
    if (page.replies_next_before_id === null) return { seen, firstTotal: totals[0] };
    cursor = { replies_before_id: String(page.replies_next_before_id) };
    await between();
  }
}

/** Makes a merchant with a listing and two comments, and a way for others to reply in each place. */
async function seedMerchantWithComments() {
  const walker = await seedMerchant(db.database);
  const listing = (await seedListing(db.database, walker.id)).id;
  const [here, there] = [await say(walker, listing), await say(walker, foreign)];
  const add = async (where: Place): Promise<number[]> => {
    if (where === 'own') await say(walker, listing);
    if (where === 'listing') return [await say(other, listing)];
    if (where === 'both') return [await say(other, listing, here)];
    return where === 'comment' ? [await say(other, foreign, there)] : [];
  };
  return { walker, add };
}

it('are walked without one twice, one left out or more than the first total, while others come and are removed', async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ start, limit, acts }) => {
      const { walker, add } = await seedMerchantWithComments();
      const due: number[] = [];
      for (const where of start) due.unshift(...(await add(where)));
      const rest = [...acts];
      const { seen, firstTotal } = await walk(walker, limit, async () => {
        for (const [what, which] of rest.shift() ?? []) {
          if (what !== 'remove') await add(what);
          else await remove(due[which % due.length] ?? 0);
        }
      });
      expect(seen).toEqual(due);
      expect(firstTotal).toBe(due.length);
    }),
    { numRuns: 25, seed: 20300102 },
  );
});

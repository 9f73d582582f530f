import sql from 'sql-template-tag';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import { ask, reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act, type LoggedEvent } from '../../../test/support/listing-life.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { removeListing, type SeededMerchant, seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { FLAG_TARGETS, type FlagTarget } from '../../contract/feedback.ts';
import { endpoints } from '../../contract/index.ts';
import type { Market } from '../context.ts';
import { getMe } from '../history/get-me.ts';
import { postComment } from './post-comment.ts';
import { raiseFlag } from './raise-flag.ts';

const db = testDatabase();
let market: Market;
let keeper: SeededMerchant;
let owner: SeededMerchant;
let caller: SeededMerchant;
let targets: Record<FlagTarget, number>;
let statuses: number[] = [];

beforeAll(async () => {
  market = marketContext({ database: db.database });
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
});
beforeEach(async () => {
  [owner, caller] = [await seedMerchant(db.database), await seedMerchant(db.database)];
  const { id } = await seedListing(db.database, owner.id);
  const said = await act(market, endpoints.postComment, postComment, {
    body: { listing_id: Number(id), body: 'Buy mine instead' },
    caller: owner,
  });
  targets = { listing: Number(id), comment: said.comment.id, merchant: Number(owner.id) };
  statuses = [];
});

const flag = async (type: FlagTarget, id = targets[type], by = caller, reason = 'It is\nspam') => {
  const noting: typeof raiseFlag = async (...call) => {
    const answer = await raiseFlag(...call);
    statuses.push(answer.status);
    return answer;
  };
  const body = { target_type: type, target_id: id, reason };
  return (await act(market, endpoints.raiseFlag, noting, { body, caller: by })).flag;
};
const flagEvents = async (): Promise<LoggedEvent[]> => {
  const rows = await db.database.rows<{ canonical: Buffer }>(
    sql`select canonical from events where kind = 'flag' order by queue_id`,
  );
  return rows
    .map(({ canonical }) => JSON.parse(canonical.toString('utf8')) as LoggedEvent)
    .filter(({ actor }) => actor === caller.handle);
};

it.each([
  ['listing', 'listing_id'],
  ['comment', 'comment_id'],
  ['merchant', 'merchant_id'],
] as const)('of a %s is told of by its id; its reason is not', async (type, name) => {
  expect(await flag(type)).toEqual({
    id: expect.any(Number),
    target_type: type,
    target_id: targets[type],
    handle: caller.handle,
    reason: 'It is\nspam',
    created_at: expect.stringMatching(/Z$/),
  });
  const events = await flagEvents();
  expect(events).toEqual([
    expect.objectContaining({ kind: 'flag', detail: { target_type: type, [name]: targets[type] } }),
  ]);
  expect(JSON.stringify(events)).not.toContain('spam');
});

it.each(FLAG_TARGETS)('of a %s again is the first, whatever the reason: no other row, no other event', async (type) => {
  const first = await flag(type);
  expect(await flag(type, targets[type], caller, 'Another reason')).toEqual(first);
  expect(statuses).toEqual([201, 200]);
  expect(await flagEvents()).toHaveLength(1);
  // Another merchant's flag is a separate one.
  expect((await flag(type, targets[type], await seedMerchant(db.database))).id).not.toBe(first.id);
});

it.each(FLAG_TARGETS)('of a %s ten times at once is one, with one event', async (type) => {
  const flags = await Promise.all(
    Array.from({ length: 10 }, (_, n) => flag(type, targets[type], caller, `reason ${n}`)),
  );
  expect(new Set(flags.map((one) => JSON.stringify(one))).size).toBe(1);
  expect(statuses.toSorted()).toEqual([...Array(9).fill(200), 201]);
  expect(await flagEvents()).toHaveLength(1);
});

it('is for what there is, and not for what is of the caller’s own making', async () => {
  for (const type of FLAG_TARGETS) {
    expect(await reasonOf(flag(type, 999_999))).toBe('not_found');
    expect(await reasonOf(flag(type, targets[type], owner))).toBe('own_target');
  }
  expect(await db.database.rows(sql`select id from flags where merchant_id = ${owner.id}`)).toEqual([]);
});

it('can be raised on what is removed already', async () => {
  await removeListing(db.database, BigInt(targets.listing));
  expect((await flag('listing')).target_id).toBe(targets.listing);
});

it('of one kind and of another with the same id are two', async () => {
  const all = [await flag('listing'), await flag('comment'), await flag('merchant')];
  expect(new Set(all.map(({ id }) => id)).size).toBe(3);
});

it('is shown to the maintainer with its reason, the newest 200 of them first, and only to the maintainer', async () => {
  const first = await flag('listing');
  const meOf = async (whose: SeededMerchant) => (await ask(market, endpoints.getMe, getMe, { caller: whose })).flags;
  expect((await meOf(keeper))[0]).toEqual(first);
  const last = await flag('comment');
  expect((await meOf(keeper)).slice(0, 2)).toEqual([last, first]);
  expect([await meOf(caller), await meOf(owner)]).toEqual([[], []]);
  await db.database.run(sql`
    with made as (
      insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at)
      select (select max(id) from merchants) + n, 'crowd-' || n, 'crowd-' || n, 'm', 'coding_persistent', now()
      from generate_series(1, 199) n returning id
    )
    insert into flags (merchant_id, listing_id, reason, created_at) select id, ${targets.listing}::int8, 'too', now() from made`);
  const shown = await meOf(keeper);
  expect(shown).toHaveLength(200);
  expect(shown.at(-1)).toEqual(last);
});

it('takes a reason of 1 to 500 characters without hidden ones', () => {
  const judged = (reason: string) =>
    endpoints.raiseFlag.body.safeParse({ target_type: 'listing', target_id: 1, reason }).success;
  expect(['x', 'x'.repeat(500), 'two\nlines'].map(judged)).toEqual([true, true, true]);
  expect(['', ' ', 'x'.repeat(501), 'a\u202eb', 'a\u0000b'].map(judged)).toEqual(Array(5).fill(false));
  expect(endpoints.raiseFlag.body.safeParse({ target_type: 'sale', target_id: 1, reason: 'x' }).success).toBe(false);
});

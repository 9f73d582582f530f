import sql, { raw } from 'sql-template-tag';
import { beforeAll, expect, it } from 'vitest';
import { reasonOf } from '../../../test/support/ask.ts';
import { testDatabase } from '../../../test/support/database.ts';
import { act, eventsOf, holdTransactionOpen, untilWaiting } from '../../../test/support/listing-life.ts';
import { marketContext } from '../../../test/support/market-context.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../test/support/seed.ts';
import { endpoints } from '../../contract/index.ts';
import { REMOVAL_REASON_CODES } from '../../contract/moderation.ts';
import type { Market } from '../context.ts';
import { postComment } from '../reactions/post-comment.ts';
import { lockComment, markCommentRemoved } from '../reactions/store.ts';
import { removeComment } from './remove-listing.ts';

const db = testDatabase();
let market: Market;
let keeper: SeededMerchant;
let author: SeededMerchant;
let listing: bigint;
let count = 0;

beforeAll(async () => {
  market = marketContext({ database: db.database });
  keeper = await seedMerchant(db.database, { handle: 'the-keeper' });
  author = await seedMerchant(db.database);
  listing = (await seedListing(db.database, keeper.id)).id;
});

type Code = (typeof REMOVAL_REASON_CODES)[number];
const writeComment = async (under?: number): Promise<number> => {
  count += 1;
  const body = { listing_id: Number(listing), body: `The words ${count}`, ...(under ? { parent_id: under } : {}) };
  return (await act(market, endpoints.postComment, postComment, { body, caller: author })).comment.id;
};
const remove = async (id: number, reason_code: Code = 'spam', reason = 'One is\nenough') =>
  (
    await act(market, endpoints.removeComment, removeComment, {
      body: { comment_id: id, reason_code, reason },
      caller: keeper,
    })
  ).comment;
const removals = async () =>
  (await eventsOf(db.database, listing)).filter(({ kind }) => kind === 'moderation').map(({ detail }) => detail);

it('empties the comment, which keeps its place, its author and its replies, and is told of without a word of it', async () => {
  const first = await writeComment();
  const id = await writeComment(first);
  const reply = await writeComment(id);
  expect(await remove(id)).toMatchObject({
    id,
    handle: author.handle,
    parent_id: first,
    listing_id: Number(listing),
    body: '',
    removed: true,
    removed_reason_code: 'spam',
    text_flags: [],
  });
  const { parent_id } = await db.database.one<{ parent_id: bigint }>(
    sql`select parent_id from comments where id = ${reply}`,
  );
  expect(parent_id).toBe(BigInt(id));
  expect(await eventsOf(db.database, listing)).toContainEqual({
    kind: 'moderation',
    actor: 'the-keeper',
    detail: {
      action: 'remove_comment',
      comment_id: id,
      listing_id: Number(listing),
      merchant_id: Number(author.id),
      reason_code: 'spam',
    },
  });
  // The row keeps the comment, so that the removal can be justified later.
  expect(await db.database.one(sql`select body, removed_reason from comments where id = ${id}`)).toEqual({
    body: expect.stringMatching(/^The words/),
    removed_reason: 'One is\nenough',
  });
});

it('again, or ten times at once, is answered with the first: one reason, one event', async () => {
  const id = await writeComment();
  const before = (await removals()).length;
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, n) => remove(id, n % 2 === 0 ? 'fraud' : 'policy', `reason ${n}`)),
  );
  answers.push(await remove(id, 'other'));
  expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  expect((await removals()).length).toBe(before + 1);
});

it('waits for one that is just being made, and is answered with it', async () => {
  const id = await writeComment();
  const before = (await removals()).length;
  const removing = await holdTransactionOpen(db.database, async (tx) => {
    await lockComment(tx, BigInt(id));
    markCommentRemoved(tx, BigInt(id), { reasonCode: 'illegal', reason: 'first', now: new Date() });
    await tx.one(sql`select 1 as written`);
  });
  const second = remove(id, 'other');
  await untilWaiting(db.database);
  await removing.commit();
  expect(await second).toMatchObject({ removed_reason_code: 'illegal' });
  expect((await removals()).length).toBe(before);
});

it('takes every code that the market knows, and a reason', async () => {
  for (const code of REMOVAL_REASON_CODES)
    expect((await remove(await writeComment(), code)).removed_reason_code).toBe(code);
  const { body } = endpoints.removeComment;
  expect(body.safeParse({ comment_id: 1, reason_code: 'mood', reason: 'x' }).success).toBe(false);
  expect(body.safeParse({ comment_id: 1, reason_code: 'spam', reason: '' }).success).toBe(false);
});

it('is of a comment', async () => {
  expect(await reasonOf(remove(999_999))).toBe('not_found');
});

it.each([
  ['the words', "body = 'x'"],
  ['the author', 'merchant_id = 1'],
  ['the removal', 'removed_at = null, removed_reason_code = null, removed_reason = null'],
  ['the reason', "removed_reason = 'x'"],
])('is the only change that the table takes: afterwards not of %s either', async (_what, change) => {
  const id = await writeComment();
  await remove(id);
  const changed = db.database.run(raw(`update comments set ${change} where id = ${id}`));
  await expect(changed).rejects.toMatchObject({ constraint: 'voices_are_fixed' });
});

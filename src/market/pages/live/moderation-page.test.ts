import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase } from '../../../../test/support/database.ts';
import { HOSTILE_TEXTS } from '../../../../test/support/hostile-texts.ts';
import { act } from '../../../../test/support/listing-life.ts';
import { marketContext } from '../../../../test/support/market-context.ts';
import { readMarkup, strangeTags } from '../../../../test/support/read-markup.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import { type SeededMerchant, seedListing, seedMerchant } from '../../../../test/support/seed.ts';
import type { AppealOutcome } from '../../../contract/appeals.ts';
import { endpoints } from '../../../contract/index.ts';
import type { Market } from '../../context.ts';
import { createMarket, type RunningMarket } from '../../create-market.ts';
import { MAINTAINER_POWERS } from '../../guide/get-official-facts.ts';
import { appealRemoval, decideAppeal } from '../../moderation/appeals.ts';
import { removeComment, removeListing } from '../../moderation/remove-listing.ts';
import { removeText } from '../../moderation/remove-text.ts';
import { cleanText } from '../storefront/render-text.ts';

const BROWSER = 'text/html,*/*;q=0.8';
let test: Awaited<ReturnType<typeof createTestDatabase>>;
let running: RunningMarket;
let market: Market;
let keeper: SeededMerchant;
let seller: SeededMerchant;

beforeAll(async () => {
  test = await createTestDatabase();
  const { database } = test;
  const { config, pepper, random, clock } = marketContext({ database });
  running = createMarket({ config, database, clock, log: recordingLog().log, pepper, random });
  market = running.market;
  keeper = await seedMerchant(database, { handle: 'keeper' });
  seller = await seedMerchant(database, { handle: 'ink' });
});
afterAll(async () => {
  await running.http.close({ drainMs: 0 });
  await running.stop({ drainMs: 0 });
  await test.drop();
});

async function open(path: string, headers: Record<string, string> = {}) {
  await running.eventsSettled();
  const {
    statusCode,
    headers: answered,
    body,
  } = await running.http.inject({ url: path, headers: { accept: BROWSER, ...headers } });
  return { status: statusCode, headers: answered, body, ...readMarkup(body) };
}

const createListing = async (title: string): Promise<bigint> =>
  (await seedListing(test.database, seller.id, { title })).id;
const remove = (id: bigint, reason = 'It holds nothing') =>
  act(market, endpoints.removeListing, removeListing, {
    body: { listing_id: Number(id), reason_code: 'merchant_request', reason },
    caller: keeper,
  });
const appeal = async (id: bigint, statement: string): Promise<number> => {
  const body = { listing_id: Number(id), statement };
  return (await act(market, endpoints.appealRemoval, appealRemoval, { body, caller: seller })).appeal.id;
};
const decide = (id: number, outcome: AppealOutcome, reason: string) =>
  act(market, endpoints.decideAppeal, decideAppeal, { body: { appeal_id: id, outcome, reason }, caller: keeper });
let comments = 0;
const writeComment = async (listing: bigint, body = 'Words of a comment'): Promise<bigint> => {
  comments += 1;
  await test.database.run(sql`
    insert into comments (id, listing_id, merchant_id, body, created_at) values (${comments}, ${listing}, ${seller.id}, ${body}, now())`);
  return BigInt(comments);
};
const emptyComment = (id: bigint) =>
  act(market, endpoints.removeComment, removeComment, {
    body: { comment_id: Number(id), reason_code: 'spam', reason: 'A reason that is not public' },
    caller: keeper,
  });
const nextIn = ({ tags }: { tags: ReturnType<typeof readMarkup>['tags'] }): string | undefined =>
  tags.find(({ attributes }) => attributes.get('rel') === 'next')?.attributes.get('href');

it('where nothing was done yet it says so, and what powers there are', async () => {
  const page = await open('/moderation');
  expect(page.status).toBe(200);
  for (const text of ['No listing was ever removed here', 'POST /api/appeal', 'Removals 0'])
    expect(page.text).toContain(text);
  for (const { power, endpoint } of MAINTAINER_POWERS) {
    expect(page.text).toContain(power.slice(1));
    expect(page.text).toContain(endpoint);
  }
  expect((await open('/moderation?show=appeals')).text).toContain('There are no appeals against removals yet');
  expect((await open('/moderation?show=comments')).text).toContain('No comment was ever removed');
});

it('a removal shows why, and never what the listing was called while it is removed', async () => {
  const id = await createListing('The name before');
  await remove(id);
  const page = await open('/moderation');
  for (const text of [
    `Listing ${id}`,
    'Removed',
    'merchant request',
    'It holds nothing',
    'By ink',
    'There is no appeal.',
    'Removals 1',
  ])
    expect(page.text).toContain(text);
  expect(page.body).not.toContain('The name before');
  expect(page.body).toContain(`href="/listing/${id}"`);
});

it('an appeal shows its words, its decision and the reason; what was restored has its title again and no reason', async () => {
  const id = await createListing('Brought back');
  await remove(id, 'Seen as nothing');
  const appealId = await appeal(id, 'It is what it says');
  expect((await open('/moderation?show=appeals')).text).toMatch(/It is what it says\s+The appeal is not decided yet/);
  await decide(appealId, 'restored', 'Looked at again');
  for (const path of ['/moderation', '/moderation?show=appeals']) {
    const page = await open(path);
    for (const text of [
      'Brought back',
      'Restored',
      'It is what it says',
      'Granted: the listing was restored',
      'Looked at again',
    ])
      expect(page.text).toContain(text);
    expect(page.body).not.toContain('Seen as nothing');
  }
  // After a second removal, neither the listing nor this page shows the texts about the first one.
  await remove(id, 'Once more');
  const again = await open('/moderation');
  for (const gone of ['It is what it says', 'Looked at again', 'Brought back']) expect(again.body).not.toContain(gone);
  expect(again.text).toContain('The words of this appeal are not shown any more');
  expect(again.text).toContain('Once more');
  expect(again.text).toContain('Granted: the listing was restored');
  await decide(await appeal(id, 'And again'), 'removal_upheld', 'It stands now');
  const upheld = await open('/moderation?show=appeals');
  for (const text of ['And again', 'Refused: the removal stands', 'It stands now', 'Appeals 2'])
    expect(upheld.text).toContain(text);
});

it('a statement that was emptied is shown neither here nor on the listing', async () => {
  const id = await createListing('Appealed for');
  await remove(id);
  const appealId = await appeal(id, 'Words to be emptied');
  const body = { target_type: 'appeal', target_id: appealId, reason_code: 'policy', reason: 'Hidden why' } as const;
  await act(market, endpoints.removeText, removeText, { body, caller: keeper });
  for (const [path, says] of [
    ['/moderation?show=appeals', 'The words of this appeal are not shown any more: the maintainer emptied them'],
    [`/listing/${id}`, 'Emptied by the maintainer'],
  ] as const) {
    const page = await open(path);
    expect(page.text).toContain(says);
    for (const hidden of ['Words to be emptied', 'Hidden why']) expect(page.body).not.toContain(hidden);
  }
});

it('of a removed comment only its place, its author and the code are left', async () => {
  const id = await createListing('Commented on');
  const comment = await writeComment(id);
  await writeComment(id, 'Stays');
  await emptyComment(comment);
  const page = await open('/moderation?show=comments');
  for (const text of [`Comment ${comment} on listing ${id}`, 'by ink', 'reason: spam', 'Removed comments 1'])
    expect(page.text).toContain(text);
  for (const hidden of ['Words of a comment', 'A reason that is not public', 'Stays'])
    expect(page.body).not.toContain(hidden);
});

it('every removal, appeal and removed comment is on one page each, newest first', async () => {
  for (let at = 0; at < 45; at += 1) {
    const id = await createListing(`Goods ${at}`);
    await remove(id);
    await appeal(id, `Statement ${at}`);
    await emptyComment(await writeComment(id));
  }
  const totals = { removals: 49, appeals: 48, comments: 46 };
  for (const [show, total] of Object.entries(totals)) {
    const links: string[] = [];
    let path: string | undefined = `/moderation?show=${show}`;
    let pages = 0;
    while (path !== undefined) {
      const page = await open(path);
      expect(page.text).toContain(`${total}`);
      const heads = page.tags.flatMap((tag, at) => (tag.name === 'h3' && !tag.isEnd ? [page.tags[at + 1]] : []));
      links.push(...heads.map((tag) => tag?.attributes.get('href') ?? ''));
      path = nextIn(page);
      pages += 1;
    }
    expect([show, links.length, pages]).toEqual([show, total, 3]);
    const numbers = links.slice(0, 45).map((link) => Number.parseInt(link.slice('/listing/'.length), 10));
    expect(numbers).toEqual(numbers.toSorted((one, other) => other - one));
  }
});

it('is kept by its tag, and refuses what nothing can be found by', async () => {
  const page = await open('/moderation');
  expect(page.headers['cache-control']).toBe('public, max-age=1, stale-while-revalidate=5');
  const etag = String(page.headers['etag']);
  expect((await open('/moderation', { 'if-none-match': etag })).status).toBe(304);
  await remove(await createListing('One more'));
  expect((await open('/moderation', { 'if-none-match': etag })).status).toBe(200);
  for (const query of ['show=everything', 'before_id=0', 'before_id=-1', 'before_id=x', 'show=a&show=b']) {
    const refused = await open(`/moderation?${query}`);
    expect([query, refused.status, refused.body.includes('<h1')]).toEqual([query, 400, true]);
  }
  expect((await open('/moderation?before_id=9999999999999999')).status).toBe(200);
});

it('hostile reasons, statements and titles stay texts', async () => {
  for (const [at, text] of HOSTILE_TEXTS.entries()) {
    const id = await createListing(text.slice(0, 120));
    await test.database.run(sql`
      insert into removals (listing_id, reason_code, reason, removed_by, removed_at, restored_at)
      values (${id}, ${text}, ${text}, 1, now(), case when ${at % 2 === 0} then now() end)`);
    await test.database.run(sql`
      insert into appeals (removal_id, listing_id, statement, created_at, outcome, outcome_reason, decided_at)
      select id, listing_id, ${text}, now(), 'restored', ${text}, now() from removals where listing_id = ${id}`);
  }
  let path: string | undefined = '/moderation?show=appeals';
  let found = '';
  while (path !== undefined) {
    const shown = await open(path);
    expect(strangeTags(shown.tags)).toEqual([]);
    found += shown.text;
    path = nextIn(shown);
  }
  for (const text of HOSTILE_TEXTS) expect(found).toContain(cleanText(text));
});

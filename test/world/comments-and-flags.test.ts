import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { settableClock } from '../support/market-context.ts';
import { type Answer, type Member, startWorld, type World } from '../support/market-world.ts';
import { seedListing, seedPaidPurchase } from '../support/seed.ts';

const WORDS = 'Which models was it tried with';

let world: World;
let keeper: Member;
let seller: Member;
let reader: Member;
let listing: number;

beforeAll(async () => {
  // The clock is fixed, so that no day boundary falls within a test.
  const clock = settableClock(Date.parse('2030-01-01T12:00:00.000Z'));
  world = await startWorld({ limits: { voices_per_merchant_day: 12 }, clock });
  keeper = await world.join('the-keeper');
  seller = await world.join('seller-one');
  reader = await world.join('reader-one');
  listing = Number((await seedListing(world.db.database, seller.id)).id);
  await world.running.eventsSettled();
});
afterAll(() => world?.stop());

const post = (path: string, body: unknown, as?: Member): Promise<Answer> =>
  world.ask('POST', path, { body, ...(as ? { key: as.key } : {}) });
const read = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
  world.ask('GET', path, { headers });
const quickReads = (): number => {
  const counted = world.running.http.readCounts().find(({ route }) => route === '/api/listing/:id');
  return (counted?.answered ?? 0) + (counted?.notModified ?? 0);
};
const windowEvents = async (): Promise<Record<string, unknown>[]> => {
  await world.running.eventsSettled();
  return (await read('/api/events?scope=window')).body['events'] as Record<string, unknown>[];
};
let comment = 0;

it('a listing without comments is answered out of memory', async () => {
  const before = quickReads();
  const answer = await read(`/api/listing/${listing}`);
  expect(answer.body).toMatchObject({ comments: [], comments_total: 0 });
  const tag = answer.headers.get('etag') ?? '';
  expect((await read(`/api/listing/${listing}`, { 'if-none-match': tag })).status).toBe(304);
  expect(quickReads()).toBe(before + 2);
});

it('a comment is made once, shown at once, and told of by its id alone', async () => {
  const made = await post('/api/comment', { listing_id: listing, body: WORDS }, reader);
  expect(made.status).toBe(201);
  comment = (made.body['comment'] as { id: number }).id;
  const again = await post('/api/comment', { listing_id: listing, body: WORDS }, reader);
  expect([again.status, again.body]).toEqual([200, made.body]);
  const before = quickReads();
  const shown = await read(`/api/listing/${listing}`);
  expect(shown.body).toMatchObject({
    comments_total: 1,
    comments: [{ id: comment, body: WORDS, handle: 'reader-one' }],
  });
  const tag = shown.headers.get('etag') ?? '';
  expect(shown.headers.get('cache-control')).toContain('public');
  expect((await read(`/api/listing/${listing}`, { 'if-none-match': tag })).status).toBe(304);
  // A listing with comments does not take the quick path.
  expect(quickReads()).toBe(before);
  const events = await windowEvents();
  const detail = { comment_id: comment, listing_id: listing, merchant_id: Number(seller.id) };
  expect(events[0]).toMatchObject({ kind: 'comment', actor: 'reader-one', detail });
  expect(events.filter(({ kind }) => kind === 'comment')).toHaveLength(1);
  expect(JSON.stringify(events)).not.toContain(WORDS);
});

it('a reply reaches who it is for, and a purchase makes a verified buyer of the author, under another tag', async () => {
  const reply = { listing_id: listing, parent_id: comment, body: 'With three of them' };
  expect((await post('/api/comment', reply, seller)).status).toBe(201);
  const me = await world.ask('GET', '/api/me', { key: reader.key });
  expect(me.body).toMatchObject({
    replies_total: 1,
    replies: [{ listing_id: listing, parent_id: comment, handle: 'seller-one', body: reply.body }],
    quotas: { voices_per_merchant_day: { limit: 12, used: 1 } },
    flags: [],
  });
  const tag = (await read(`/api/listing/${listing}`)).headers.get('etag') ?? '';
  await seedPaidPurchase(world.db.database, BigInt(listing), { merchantId: reader.id });
  const since = await read(`/api/listing/${listing}`, { 'if-none-match': tag });
  expect(since.status).toBe(200);
  expect(since.body['comments']).toMatchObject([{ verified_buyer: true }, { verified_buyer: false }]);
});

it('a flag reaches the maintainer alone; in the log it has no reason, in the window no place', async () => {
  const flag = { target_type: 'comment', target_id: comment, reason: 'It asks too much' };
  const raised = await post('/api/flag', flag, seller);
  expect([raised.status, (await post('/api/flag', flag, seller)).status]).toEqual([201, 200]);
  const asked = await world.ask('GET', '/api/me', { key: keeper.key });
  expect(asked.body['flags']).toEqual([raised.body['flag']]);
  expect((await windowEvents()).map(({ kind }) => kind)).not.toContain('flag');
  const told = (await read('/api/events?kind=flag')).body;
  expect(told).toMatchObject({ total: 1, events: [{ detail: { target_type: 'comment', comment_id: comment } }] });
  expect(JSON.stringify(told)).not.toContain(flag.reason);
});

it('only the maintainer empties a comment; then its words are shown no more', async () => {
  const removal = { comment_id: comment, reason_code: 'policy', reason: 'Not asked that way' };
  for (const [as, status, reason] of [
    [undefined, 401, 'key_required'],
    [seller, 403, 'maintainer_only'],
    [reader, 403, 'maintainer_only'],
  ] as const)
    expect(await post('/api/mod/comment', removal, as)).toMatchObject({ status, body: { reason } });
  const tag = (await read(`/api/listing/${listing}`)).headers.get('etag') ?? '';
  for (const _ of [1, 2]) expect((await post('/api/mod/comment', removal, keeper)).status).toBe(200);
  const since = await read(`/api/listing/${listing}`, { 'if-none-match': tag });
  expect(since.body).toMatchObject({ comments_total: 2 });
  expect((since.body['comments'] as unknown[])[0]).toMatchObject({
    id: comment,
    body: '',
    removed: true,
    removed_reason_code: 'policy',
    verified_buyer: true,
  });
  const shown = [
    since.body,
    await windowEvents(),
    (await world.ask('GET', '/api/me', { key: reader.key })).body,
    (await world.ask('GET', '/api/me', { key: seller.key })).body,
    (await world.ask('GET', '/api/me', { key: keeper.key })).body,
  ];
  expect(JSON.stringify(shown)).not.toContain(WORDS);
  const acts = (shown[1] as Record<string, unknown>[]).filter(({ kind }) => kind === 'moderation');
  expect(acts).toMatchObject([{ actor: 'the-keeper', detail: { action: 'remove_comment', comment_id: comment } }]);
});

it('a line for the own store is shown at once', async () => {
  const line = 'Prompts that were tried';
  const set = await post('/api/store', { line }, seller);
  expect(set).toMatchObject({ status: 200, body: { merchant: { handle: 'seller-one', store_line: line } } });
  expect((await read('/api/store/seller-one')).body['merchant']).toEqual(set.body['merchant']);
  expect((await read('/api/merchants')).body['merchants']).toContainEqual(set.body['merchant']);
});

it('needs a key, and what each refuses it refuses by name', async () => {
  for (const [path, body] of [
    ['/api/comment', { listing_id: listing, body: 'x' }],
    ['/api/flag', { target_type: 'listing', target_id: listing, reason: 'x' }],
    ['/api/store', { line: 'x' }],
  ] as const)
    expect(await post(path, body)).toMatchObject({ status: 401, body: { reason: 'key_required' } });
  const refused = async (path: string, body: unknown, as = seller) => (await post(path, body, as)).body['reason'];
  expect(await refused('/api/comment', { listing_id: 999_999, body: 'x' })).toBe('not_found');
  expect(await refused('/api/comment', { listing_id: listing, parent_id: 999_999, body: 'x' })).toBe('not_found');
  expect(await refused('/api/flag', { target_type: 'listing', target_id: listing, reason: 'x' })).toBe('own_target');
  expect(await refused('/api/flag', { target_type: 'merchant', target_id: 999_999, reason: 'x' })).toBe('not_found');
  expect(await refused('/api/mod/comment', { comment_id: 999_999, reason_code: 'spam', reason: 'x' }, keeper)).toBe(
    'not_found',
  );
  const hidden = await post('/api/comment', { listing_id: listing, body: 'up\u202enow' }, seller);
  expect(hidden).toMatchObject({ status: 400, body: { errors: [{ path: 'body' }] } });
  expect((await read(`/api/listing/${listing}?comments_after_id=999999`)).body['reason']).toBe('cursor_invalid');
  expect((await read(`/api/listing/${listing}?comments_limit=201`)).status).toBe(400);
});

it('the day ends in a refusal that says how long, and a repeat is answered all the same', async () => {
  const quota = { name: 'voices_per_merchant_day', used: 12 };
  await world.db.database.run(
    sql`update rate_counters set used = ${quota.used} where name = ${quota.name} and subject = ${seller.id.toString()}`,
  );
  const refused = await post('/api/comment', { listing_id: listing, body: 'One more' }, seller);
  expect(refused).toMatchObject({ status: 429, body: { reason: 'rate_limited', retry: 'same_request' } });
  expect(refused.headers.get('retry-after')).toBe(String(refused.body['retry_after_seconds']));
  const repeat = { listing_id: listing, parent_id: comment, body: 'With three of them' };
  expect((await post('/api/comment', repeat, seller)).status).toBe(200);
});

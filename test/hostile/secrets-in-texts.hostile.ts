import sql, { raw } from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import { createSecretGuard, makeMerchantKey, SECRET_MASK } from '../../src/platform/secrets.ts';
import { KELVIN, pairingCodeOf } from '../support/dressed-secrets.ts';
import { type Member, startWorld, TEST_PEPPER, type World } from '../support/market-world.ts';
import { askMcp, callTool, unfenced } from '../support/mcp-ask.ts';
import { seedFreePurchase, seedListing, seedMerchant } from '../support/seed.ts';
import { newGoods } from '../support/trade.ts';

// A rival writes text that becomes a code only after NFC. It must not be stored, and old rows with such text must not break any tool.

// The suite's watch for secrets does not know this prefix, because HTTP shows old rows unchanged.
const PREFIX = 'book';
const SECRET = pairingCodeOf(PREFIX);
const DRESSED = SECRET.replaceAll('K', KELVIN);
const guard = createSecretGuard([PREFIX]);
let world: World;
let keeper: Member;
let seller: Member;
let rival: Member;
let buyer: Member;

beforeAll(async () => {
  world = await startWorld({ keyPrefix: PREFIX });
  [keeper, seller] = [await join('keeper'), await join('seller')];
  [rival, buyer] = [await join('rival'), await join('buyer')];
});
afterAll(() => world?.stop());

async function join(handle: string): Promise<Member> {
  const merchant = await seedMerchant(world.db.database, { handle });
  const key = makeMerchantKey(systemRandom, PREFIX);
  await world.db.database.run(sql`
    insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at)
    values (${TEST_PEPPER.hash(key)}, 1, ${merchant.id}, now())`);
  return { ...merchant, key };
}

async function tablesWithSecret(): Promise<string[]> {
  const { database } = world.db;
  const tables = await database.rows<{ name: string }>(
    sql`select tablename as name from pg_tables where schemaname = 'public' order by tablename`,
  );
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await database.rows<{ text: string }>(sql`select t::text as text from ${raw(`"${name}"`)} t`);
    if (rows.some(({ text }) => guard.inText(text))) found.push(name);
  }
  return found;
}

describe('a code that is one only after NFC', () => {
  let listing: number;
  let removed: number;
  beforeAll(async () => {
    listing = Number((await seedListing(world.db.database, seller.id, { priceUnits: 0n })).id);
    removed = Number((await seedListing(world.db.database, rival.id)).id);
    const body = { listing_id: removed, reason_code: 'spam', reason: 'x' };
    expect((await world.ask('POST', '/api/mod/remove', { key: keeper.key, body })).status).toBe(200);
  });

  test('is refused wherever a merchant may write, by HTTP, as soon as it comes', async () => {
    const { key } = rival;
    const words = `see ${DRESSED}, please`;
    const stage = { action: 'stage', handle: 'another', client_class: 'coding_persistent', human_approved: true };
    const attempts: [method: string, path: string, body: unknown, key?: string][] = [
      ['POST', '/api/comment', { listing_id: listing, body: words }, key],
      ['POST', '/api/store', { line: words }, key],
      ['POST', '/api/store', { line: Buffer.from(`(${SECRET}`).toString('base64').replaceAll('K', KELVIN) }, key],
      ...['title', 'description', 'preview'].map((field): [string, string, unknown, string] => [
        'POST',
        '/api/listing?dry_run=true',
        newGoods({ [field]: words }),
        key,
      ]),
      ['POST', '/api/flag', { target_type: 'listing', target_id: listing, reason: words }, key],
      ['POST', '/api/appeal', { listing_id: removed, statement: words }, key],
      ['POST', `/api/listing/${removed}/withdraw`, { reason: words }, key],
      ['POST', '/api/register', { ...stage, model: words }],
      ['POST', '/oauth/register', { redirect_uris: ['https://host.example/back'], client_name: words }],
      // This refusal needs no key.
      ['POST', '/api/comment', { listing_id: listing, body: words }],
      ['POST', '/api/mod/text', { target_type: 'store_line', target_id: 1, reason_code: 'spam', reason: words }],
      ['GET', `/api/shelves?q=${encodeURIComponent(words)}`, undefined],
    ];
    for (const [method, path, body, by] of attempts) {
      const answer = await world.ask(method, path, { ...(by ? { key: by } : {}), ...(body ? { body } : {}) });
      expect([path, body, answer.status, answer.body['reason']]).toEqual([path, body, 400, 'secret_in_payload']);
      expect(JSON.stringify(answer.body)).not.toMatch(/123P/);
    }
    expect(await tablesWithSecret()).toEqual([]);
  });

  test('is refused by tools, and in a form', async () => {
    const { key } = rival;
    for (const [tool, given] of [
      ['comment', { listing_id: listing, body: DRESSED }],
      ['set_store', { line: DRESSED }],
      ['list_item', newGoods({ title: DRESSED })],
      ['browse', { q: DRESSED }],
    ] as const) {
      const answer = await callTool(world, tool, given, { key });
      expect([tool, answer.isError, answer.body['reason']]).toEqual([tool, true, 'secret_in_payload']);
      expect(answer.text).not.toMatch(/123P/);
    }
    const form = new URLSearchParams({ handle: 'another', model: DRESSED });
    const page = await fetch(`${world.url}/join`, { method: 'POST', body: form });
    expect([page.status, (await page.text()).includes('123P')]).toEqual([400, false]);
    expect(await tablesWithSecret()).toEqual([]);
  });
});

test('a field name that is a secret only without its escapes never comes back, where it is given twice', async () => {
  const spelled = `\\u00${PREFIX.charCodeAt(0).toString(16)}${SECRET.slice(1)}`;
  const bodies = [`{"${spelled}":1,"${spelled}":2}`, `{"params":{"${spelled}":1,"${spelled}":2}}`];
  for (const path of ['/mcp', '/api/register', '/api/comment', '/api/store']) {
    for (const body of bodies) {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      const answer = await fetch(`${world.url}${path}`, { method: 'POST', headers, body });
      const text = await answer.text();
      expect([path, guard.inText(text), text.includes('123P')]).toEqual([path, false, false]);
    }
  }
});

describe('a code that an older version has stored', () => {
  let listing: number;
  let goods: number;
  const told = `Old ${SECRET_MASK} words`;
  const line = `Planted ${SECRET} line`;
  const toldLine = `Planted ${SECRET_MASK} line`;
  beforeAll(async () => {
    const { database } = world.db;
    const words = `Old ${SECRET} words`;
    listing = Number((await seedListing(database, rival.id, { title: words, priceUnits: 0n, artifact: 'goods' })).id);
    await database.run(sql`update listings set description = ${words}, preview = ${SECRET} where id = ${listing}`);
    await database.run(sql`
      insert into comments (id, listing_id, merchant_id, body, created_at)
      values (1, ${listing}, ${rival.id}, ${words}, now())`);
    await database.run(sql`update merchants set store_line = ${line} where id = ${rival.id}`);
    goods = Number((await seedListing(database, seller.id, { priceUnits: 0n, artifact: `use ${SECRET}` })).id);
    for (const id of [listing, goods]) await seedFreePurchase(database, BigInt(id), buyer.id);
    await vi.waitFor(async () =>
      expect((await world.ask('GET', '/api/store/rival')).body).toMatchObject({
        merchant: { store_line: line },
        total: 1,
      }),
    );
  });

  /** Calls a tool that must succeed, and checks that text and body are equal and contain no secret. */
  async function callMasked(name: string, given: object, key?: string) {
    const answer = await callTool(world, name, { ...given }, key === undefined ? {} : { key });
    expect([name, answer.isError, answer.body['reason']]).toEqual([name, false, undefined]);
    expect([name, guard.inText(answer.text), guard.inValue(answer.body)]).toEqual([name, false, false]);
    expect(JSON.parse(unfenced(answer.text))).toEqual(answer.body);
    return answer.body;
  }

  test('is masked in its own text by every tool that reads it, and the rest of the answer is there', async () => {
    expect(await callMasked('read_listing', { id: listing })).toMatchObject({
      listing: { id: listing, title: told, description: told, preview: SECRET_MASK },
      comments: [{ handle: 'rival', body: told }],
    });
    const { merchants } = await callMasked('merchants', {});
    expect(merchants).toMatchObject([
      { handle: 'keeper' },
      { handle: 'seller' },
      { handle: 'rival', store_line: toldLine },
      { handle: 'buyer' },
    ]);
    expect(await callMasked('visit_store', { handle: 'rival' })).toMatchObject({
      merchant: { store_line: toldLine },
      listings: [{ title: told }],
    });
    const { listings } = await callMasked('browse', {});
    expect(listings).toEqual(expect.arrayContaining([expect.objectContaining({ id: listing, title: told })]));
    expect(await callMasked('window', {})).toMatchObject({ merchants: { items: expect.any(Array) } });
    expect(await callMasked('me', {}, rival.key)).toMatchObject({ merchant: { store_line: toldLine } });
    expect(await callMasked('buy', { id: listing }, buyer.key)).toMatchObject({ artifact: 'goods', title: told });
    const { message } = await askMcp(world, 'resources/read', { uri: `market://listing/${listing}` });
    const [content] = (message.result?.['contents'] ?? []) as { text: string }[];
    expect(JSON.parse(content?.text ?? '')).toMatchObject({ listing: { title: told }, comments: [{ body: told }] });
  });

  test('stays as it is in goods, which no tool alters or hands over; a page of them shows the others', async () => {
    const other = await callTool(world, 'buy', { id: goods }, { key: rival.key });
    expect(other).toMatchObject({ isError: true, body: { reason: 'not_by_tool', do_not_pay_again: true } });
    expect(guard.inText(other.text)).toBe(false);
    expect((await world.buy(BigInt(goods), { key: rival.key })).body['artifact']).toBe(`use ${SECRET}`);
    const { purchases } = await callMasked('my_purchases', {}, buyer.key);
    expect(purchases).toMatchObject([
      { listing_id: goods, artifact: null, artifact_url: expect.stringMatching(new RegExp(`/api/buy/${goods}$`)) },
      { listing_id: listing, artifact: 'goods', title: told },
    ]);
  });

  test('is emptied by the maintainer where it is a store line: in the log, without a word of it', async () => {
    const act = { target_type: 'store_line', target_id: Number(rival.id), reason_code: 'policy', reason: 'A code.' };
    expect(await callTool(world, 'remove_text', act, { key: rival.key })).toMatchObject({
      body: { reason: 'maintainer_only' },
    });
    const removed = await callTool(world, 'remove_text', act, { key: keeper.key });
    expect(removed).toMatchObject({ isError: false, body: { removal: { merchant: 'rival', reason_code: 'policy' } } });
    expect(await callMasked('visit_store', { handle: 'rival' })).toMatchObject({ merchant: { store_line: '' } });
    const { merchants } = await callMasked('merchants', {});
    expect(merchants).toMatchObject([{}, {}, { handle: 'rival', store_line: '' }, {}]);
    const page = await fetch(`${world.url}/store/rival`, { headers: { accept: 'text/html' } });
    expect([page.status, (await page.text()).includes('Planted')]).toEqual([200, false]);
    await world.running.eventsSettled();
    const { events } = (await world.ask('GET', '/api/events?kind=moderation&limit=1')).body as { events: object[] };
    expect(events).toMatchObject([
      {
        actor: 'keeper',
        detail: { action: 'remove_store_line', merchant_id: Number(rival.id), reason_code: 'policy' },
      },
    ]);
    expect(JSON.stringify(events)).not.toMatch(/Planted|A code/);
    const written = await world.ask('POST', '/api/store', { key: rival.key, body: { line: 'A better one' } });
    expect(written.body).toMatchObject({ merchant: { store_line: 'A better one' } });
  });
});

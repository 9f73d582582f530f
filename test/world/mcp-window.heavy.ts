import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { needsCity, TOOLS } from '../../src/contract/tools.ts';
import { listTools } from '../../src/market/mcp/tool-catalog.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { askMcp, callTool, type Era } from '../support/mcp-ask.ts';
import { seedListing, seedPaidPurchase, seedStock } from '../support/seed.ts';
import { send } from '../support/send.ts';

/** Limit on a result, a quarter to half of what hosts allow. */
const MAX_CHARACTERS = 12_000;
const MAX_LIST_BYTES = 45_000;
const STOCK = 10_000;
const PRICE_UNITS = 2_500_000n;
const LONG = 'What this is, for whom it was made, how it was measured, and what it leaves out. ';
const OUTLINE = ['id', 'title', 'price_usdc', 'merchant', 'aisle', 'verified_sales', 'first_line'];

let world: World;
let maintainer: Member;
let seller: Member;
let reader: Member;
let ids: bigint[];
beforeAll(async () => {
  world = await startWorld();
  // Merchant 1 is the maintainer.
  maintainer = await world.join('keeper');
  seller = await world.join('seller-of-many');
  reader = await world.join('reader');
  ids = await seedStock(
    world.db.database,
    seller.id,
    Array.from({ length: STOCK }, (_, index) => ({
      title: `Measured prices of grain and oil in harbour number ${index}`,
      description: `${LONG}\n${LONG.repeat(8)}`,
      preview: LONG.repeat(12),
      tags: ['grain', 'oil', 'harbours', 'prices'],
    })),
  );
  await world.running.eventsSettled();
});
afterAll(() => world?.stop());

async function sizeOf(name: string, given: Record<string, unknown>, era: Era): Promise<number> {
  const headers = { authorization: `Bearer ${seller.key}` };
  const { message } = await askMcp(world, 'tools/call', { name, arguments: given }, { era, headers });
  expect(message.result?.['isError'], name).toBeUndefined();
  return JSON.stringify(message.result).length;
}

const toolsOf = async (era: Era, key?: string) => {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const { message } = await askMcp(world, 'tools/list', {}, { era, headers });
  return { message, tools: message.result?.['tools'] as { name: string; inputSchema: Record<string, never> }[] };
};

describe.each(['modern', 'legacy'] as const)('in the %s revision', (era: Era) => {
  it('answers of ten thousand listings fit into a window as they come', async () => {
    for (const [name, given] of [
      ['browse', {}],
      ['browse', { q: 'grain' }],
      ['visit_store', { handle: 'seller-of-many' }],
      ['window', {}],
      ['me', {}],
    ] as const) {
      const size = await sizeOf(name, given, era);
      expect([name, size < MAX_CHARACTERS, size]).toEqual([name, true, size]);
    }
    expect(await sizeOf('browse', { fields: 'full', limit: 50 }, era)).toBeGreaterThan(MAX_CHARACTERS);
  });

  it('the list fits as well, for a stranger and for the maintainer, who is shown more', async () => {
    const stranger = await toolsOf(era);
    const member = await toolsOf(era, seller.key);
    const keeper = await toolsOf(era, maintainer.key);
    for (const { message } of [stranger, member, keeper]) {
      expect(Buffer.byteLength(JSON.stringify(message))).toBeLessThan(MAX_LIST_BYTES);
    }
    const names = ({ tools }: Awaited<ReturnType<typeof toolsOf>>): string[] => tools.map(({ name }) => name);
    expect(names(member)).toEqual(names(stranger));
    expect(names(keeper).filter((name) => !names(stranger).includes(name))).toEqual(
      TOOLS.filter(({ kind }) => kind === 'maintainer').map(({ name }) => name),
    );
    expect(names(keeper).filter((name) => /world|city/.test(name))).toEqual([]);
  });
});

it('with a city its tools are listed, and all of them together fit', () => {
  const all = listTools({ isMaintainer: true, hasCity: true });
  expect(all.map(({ name }) => name)).toEqual(TOOLS.map(({ name }) => name));
  expect(Buffer.byteLength(JSON.stringify(all))).toBeLessThan(MAX_LIST_BYTES);
  const here = listTools({ isMaintainer: true, hasCity: false }).map(({ name }) => name);
  const ofCity = TOOLS.filter(needsCity).map(({ name }) => name);
  expect(ofCity).toEqual(TOOLS.map(({ name }) => name).filter((name) => /world|city/.test(name)));
  expect(here.filter((name) => ofCity.includes(name))).toEqual([]);
});

it('ten outlines come unless more is asked for, and the walk goes on', async () => {
  const first = await callTool(world, 'browse');
  const rows = first.body['listings'] as Record<string, unknown>[];
  expect(rows.map((row) => Object.keys(row))).toEqual(Array.from({ length: 10 }, () => OUTLINE));
  expect(rows[0]).toMatchObject({ merchant: 'seller-of-many', aisle: 'other', verified_sales: 0, first_line: LONG });
  const next = await callTool(world, 'browse', { cursor: first.body['next_cursor'] });
  expect((next.body['listings'] as unknown[]).length).toBe(10);
  const more = await callTool(world, 'visit_store', { handle: 'seller-of-many', limit: 2, fields: 'full' });
  expect(more.body['listings']).toMatchObject([{ description: expect.stringContaining('\n') }, {}]);
  const me = await callTool(world, 'me', { listings_limit: 1, fields: 'full' }, { key: seller.key });
  expect(me.body['listings']).toMatchObject([{ preview: LONG.repeat(12) }]);
  const short = await callTool(world, 'me', {}, { key: seller.key });
  expect(Object.keys((short.body['listings'] as object[])[0] ?? {})).toEqual([...OUTLINE, 'state']);
});

it('a first line ends where its line does, or at 120 whole characters, in memory and on the own page', async () => {
  const descriptions = [
    '',
    'one\r\ntwo',
    '\u{1f33e}'.repeat(200),
    'say "so" \\ now\tand then\nlater',
    'e\u0301'.repeat(100),
  ];
  const stock = descriptions.map((description, index) => ({ title: `Edge ${index}`, description }));
  const owner = await world.join('owner-of-edges');
  await seedStock(world.db.database, owner.id, stock);
  await world.running.eventsSettled();
  const expected = descriptions.map((text) => [...(/^[^\r\n]*/.exec(text)?.[0] ?? '')].slice(0, 120).join(''));
  const lines = ({ body }: { body: Record<string, unknown> }): unknown[] =>
    (body['listings'] as { first_line: string }[]).map((row) => row.first_line).reverse();
  expect(lines(await callTool(world, 'visit_store', { handle: 'owner-of-edges' }))).toEqual(expected);
  expect(lines(await world.ask('GET', '/api/store/owner-of-edges?fields=outline'))).toEqual(expected);
  expect(lines(await world.ask('GET', '/api/shelves?seller=owner-of-edges&fields=outline'))).toEqual(expected);
  expect(lines(await callTool(world, 'me', {}, { key: owner.key }))).toEqual(expected);
});

it('id and listing_id mean the same listing, and two different ones are refused', async () => {
  const id = Number(ids[0]);
  expect((await callTool(world, 'read_listing', { listing_id: id })).body).toMatchObject({ listing: { id } });
  const vote = await callTool(world, 'vote', { id }, { key: reader.key });
  expect(vote).toMatchObject({ isError: false });
  expect((await callTool(world, 'read_listing', { id, listing_id: id })).isError).toBe(false);
  const two = await callTool(world, 'read_listing', { id, listing_id: id + 1 });
  expect(two.body).toMatchObject({ reason: 'invalid_fields', errors: [{ path: 'listing_id' }] });
  expect((await callTool(world, 'read_listing')).body).toMatchObject({ errors: [{ path: 'id' }] });
});

/** Matches addresses, methods and headers of this market's HTTP API. Pages that a person opens in a browser do not count. */
const HTTP_TALK = /\b(?:GET|POST|PATCH|DELETE) \/|(?<!market)\/api\/|X-PAYMENT|PAYMENT-SIGNATURE|X-Delivery|X-Recovery/;

it('what a tool answers in our words names tools and arguments, no addresses', async () => {
  const id = Number(ids[0]);
  const free = await seedListing(world.db.database, seller.id, { title: 'A gift', priceUnits: 0n });
  await world.running.eventsSettled();
  const said = [
    (await callTool(world, 'read_listing', { id })).body['artifact'],
    (await callTool(world, 'buy', { id })).body['next_step'],
    (await callTool(world, 'buy', { id: 99_999_999 })).body['next_step'],
    (await callTool(world, 'purchase_intent', { id: Number(free.id) }, { key: reader.key })).body['next_step'],
    (await callTool(world, 'help')).body['topics'],
    (await callTool(world, 'front_door')).body['tools'],
  ].map((one) => JSON.stringify(one));
  expect(said.filter((one) => one === undefined || HTTP_TALK.test(one))).toEqual([]);
  expect(said[0]).toContain('the tool buy');
  const window = await callTool(world, 'window');
  expect(window.body['listings']).toMatchObject({
    more: { tool: 'browse', arguments: { cursor: expect.any(String) } },
  });
});

it('the way of paying by arguments alone is named where money is asked for, at connecting and in help', async () => {
  const asked = await callTool(world, 'buy', { id: Number(ids[0]) });
  expect(asked.body).toMatchObject({ reason: 'payment_required', x402Version: 2 });
  expect(asked.body['next_step']).toMatch(/purchase_intent.*claim_purchase/);
  const goods = { title: 'New goods', description: 'of mine', preview: 'look', artifact: 'the goods', price_usdc: 1 };
  const wallet = `0x${'5'.repeat(40)}`;
  const fee = await callTool(
    world,
    'list_item',
    { ...goods, aisle: 'data', seller_wallet: wallet },
    { key: seller.key },
  );
  expect(fee.body).toMatchObject({ reason: 'payment_required' });
  expect(fee.body['next_step']).toMatch(/fee_intent.*fee_payment/);
  expect(JSON.stringify((await callTool(world, 'help')).body)).toContain('claim_purchase');
  const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } };
  const { message } = await askMcp(world, 'initialize', client, { era: 'legacy' });
  expect(message.result?.['instructions']).toMatch(/purchase_intent.*claim_purchase.*fee_intent/);
});

it('goods of more than 16 KiB come as a link to where their buyer, and no other, fetches them', async () => {
  const large = 'x'.repeat(16_385);
  const seeded = await Promise.all(
    [large, large.slice(1)].map((artifact) =>
      seedListing(world.db.database, seller.id, {
        title: `Large ${artifact.length}`,
        priceUnits: PRICE_UNITS,
        artifact,
      }),
    ),
  );
  const [over, just] = seeded.map(({ id }) => Number(id));
  for (const { id } of seeded) await seedPaidPurchase(world.db.database, id, { merchantId: reader.id });
  await world.running.eventsSettled();
  const listing = (await callTool(world, 'read_listing', { id: over })).body['listing'] as Record<string, unknown>;
  const bought = await callTool(world, 'buy', { id: over }, { key: reader.key });
  const url = String(bought.body['artifact_url']);
  expect(url).toMatch(new RegExp(`^http://[\\w.:]+/api/buy/${over}$`));
  expect(bought).toMatchObject({ isError: false, body: { artifact: null, artifact_bytes: 16_385 } });
  expect(bought.body['artifact_commitment']).toBe(listing['artifact_commitment']);
  const { message } = await askMcp(
    world,
    'tools/call',
    { name: 'my_purchases', arguments: {} },
    { headers: { authorization: `Bearer ${reader.key}` } },
  );
  expect(message.result?.['content']).toMatchObject([
    { type: 'text' },
    { type: 'resource_link', uri: url, size: 16_385 },
  ]);
  expect(JSON.stringify(message)).not.toContain(large);
  expect((await callTool(world, 'buy', { id: just }, { key: reader.key })).body['artifact']).toHaveLength(16_384);

  const fetched = (key: string) =>
    send(world.url, 'POST', new URL(url).pathname, {
      body: { collect: true },
      headers: { accept: 'application/octet-stream', authorization: `Bearer ${key}` },
    });
  expect(await fetched(reader.key)).toMatchObject({ status: 200, text: large });
  const stranger = await world.join('a-stranger');
  const refused = await fetched(stranger.key);
  expect(refused.status).toBeGreaterThanOrEqual(400);
  expect(refused.text).not.toContain(large);
});

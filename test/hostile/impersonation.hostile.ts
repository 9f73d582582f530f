import sql from 'sql-template-tag';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { ownerHomes, startHostHere } from '../support/local-tools.ts';
import { type Answer, type Member, startWorld, type World } from '../support/market-world.ts';
import { callTool } from '../support/mcp-ask.ts';
import { seedListing, seedPaidPurchase } from '../support/seed.ts';
import { newGoods } from '../support/trade.ts';
import { cliRuns } from '../world/run-cli.ts';

// A stranger poses as the maintainer or as an official account by handle, by title, and by votes of merchants that bought nothing.

const BLANK = '\u2800\u2800\u2800\u2800';
const DISGUISED = 'Оpenaisle оfficial refund desk';
const NOTE = 'letters of two scripts that look alike';
const { buyerOne } = WORLD_ACCOUNTS;
const cli = cliRuns();
const makeOwner = ownerHomes();
let world: World;
let keeper: Member;
let stranger: Member;
let ofKeeper: number;
let ofStranger: number;

beforeAll(async () => {
  world = await startWorld();
  keeper = await world.join('keeper');
  stranger = await world.join('a-stranger');
  ofKeeper = Number((await seedListing(world.db.database, keeper.id, { title: 'Plain words by the maintainer' })).id);
  ofStranger = Number((await seedListing(world.db.database, stranger.id, { title: DISGUISED })).id);
  for (const { key } of [keeper, stranger])
    await world.ask('POST', '/api/comment', { key, body: { listing_id: ofStranger, body: 'It is what it says' } });
  await world.running.eventsSettled();
});
afterAll(() => world?.stop());

const stage = (handle: string): Promise<Answer> =>
  world.ask('POST', '/api/register', {
    body: { action: 'stage', handle, model: 'm', client_class: 'coding_persistent', human_approved: true },
  });
const page = async (path: string): Promise<string> =>
  (await fetch(`${world.url}${path}`, { headers: { accept: 'text/html' } })).text();
const markOn = (html: string, handle: string): boolean =>
  html.includes(`<bdi>${handle}</bdi></a> <span class="verified">Maintainer</span>`);

describe('a handle that passes for the maintainer, the market or an official voice', () => {
  test.each([
    ...['openaisle-support', 'openaisle-official', 'official-keeper', 'kee-per', 'keepers', 'keeper-of-the-market'],
    ...['treasury-refunds', 'usdc-refund', 'support-team', 'moderators', 'maintainers', 'maintalner', 'malntainer'],
    ...['admln', 'officlal', 'secur1ty', '0penaisle', 'supp0rt', 'wa11et', 'rnarket', 'keeper-', 'supportteam'],
  ])('%s is refused, and the answer says by which rule and what to do', async (handle) => {
    const { status, body } = await stage(handle);
    expect([status, body['reason']]).toEqual([409, expect.stringMatching(/^handle_(?:reserved|taken)$/)]);
    expect(body['detail']).toMatch(/which is (?:reserved|taken)|made of reserved words/);
    expect(body['next_step']).toBe('Stage again with another handle.');
  });

  test('a stage under an honest handle takes none of them at its confirm, and goes on', async () => {
    const { body: staged } = await stage('tessa-and-jill');
    const confirm = (handle?: string): Promise<Answer> =>
      world.ask('POST', '/api/register', {
        key: String(staged['merchant_key']),
        body: {
          ...{ action: 'confirm', session: staged['session'], csrf: staged['csrf'] },
          ...(handle === undefined ? {} : { handle }),
        },
      });
    for (const handle of ['keeper-official', 'k33per', 'help-moderators', 'a-5tranger', 'astranger'])
      expect([handle, (await confirm(handle)).status]).toEqual([handle, 409]);
    expect((await confirm()).body).toMatchObject({ status: 'confirmed', handle: 'tessa-and-jill' });
    expect((await stage('te55a-and-ji11')).body).toMatchObject({ reason: 'handle_taken' });
  });

  test('the words and parts are published', async () => {
    const { body } = await world.ask('GET', '/api/official');
    const patterns = body['patterns'] as { reserved: string[]; reserved_parts: string[] };
    expect(patterns.reserved).toContain('wallet');
    expect(patterns.reserved_parts).toEqual(
      expect.arrayContaining(['admin', 'escrow', 'keeper', 'maintainer', 'official', 'openaisle', 'support']),
    );
  });
});

describe('the mark of the maintainer', () => {
  test('stands beside its handle in answers and tools, and beside no other', async () => {
    const { body: shelves } = await world.ask('GET', '/api/shelves');
    const { body: own } = await world.ask('GET', `/api/listing/${ofKeeper}`);
    const { body: other } = await world.ask('GET', `/api/listing/${ofStranger}`);
    const { body: browsed } = await callTool(world, 'browse');
    const marks = (rows: unknown) =>
      (rows as { merchant?: string; handle?: string; maintainer?: true }[]).map(({ merchant, handle, maintainer }) => [
        merchant ?? handle,
        maintainer,
      ]);
    const both = [
      ['a-stranger', undefined],
      ['keeper', true],
    ];
    expect(marks(shelves['listings'])).toEqual(both);
    expect(marks(browsed['listings'])).toEqual(both);
    expect(marks([own['listing'], other['listing']])).toEqual(both.toReversed());
    expect(marks(other['comments'])).toEqual(both.toReversed());
    expect((await callTool(world, 'read_listing', { id: ofKeeper })).body['listing']).toMatchObject({
      maintainer: true,
    });
  });

  test('stands beside its handle on every page, and beside no other', async () => {
    const paths = ['/', '/shelves', `/listing/${ofKeeper}`, `/listing/${ofStranger}`, '/window', '/events'];
    for (const path of paths) {
      const html = await page(path);
      expect([path, markOn(html, 'keeper')]).toEqual([path, true]);
      expect([path, markOn(html, 'a-stranger')]).toEqual([path, false]);
    }
    const store = '<h1><bdi>keeper</bdi> <span class="verified">Maintainer</span></h1>';
    expect(await page('/store/keeper')).toContain(store);
    expect(await page('/store/a-stranger')).not.toContain('Maintainer</span>');
    expect(await page('/merchants')).toMatch(/keeper[\s\S]*Maintainer<\/span>/);
  });

  test('stands beside its handle in the command line and the local tools, and beside no other', async () => {
    const market = world.url;
    const shown = await cli.run(['show', String(ofStranger)], { market });
    expect(shown.stdout).toMatch(/^\d+ {2}keeper \(maintainer\), /m);
    expect(shown.stdout).toMatch(/sold by a-stranger, /);
    expect(shown.stdout).not.toContain('a-stranger (maintainer)');
    expect((await cli.run(['search'], { market })).stdout).toMatch(/keeper \(maintainer\) /);
    const watched = await cli.run(['watch', '--after', '0', '--count', '2'], { market });
    expect(watched.stdout).toMatch(/comment keeper \(maintainer\) comment_id=1 /);
    expect(watched.stdout).toMatch(/comment a-stranger comment_id=2 /);
    const owner = await makeOwner({ market, wallet: buyerOne });
    const host = await startHostHere({ owner, era: 'modern' });
    const { data } = await host.call('search');
    expect(data['listings']).toMatchObject([
      { seller: 'a-stranger' },
      { seller: 'keeper', seller_is_maintainer: true },
    ]);
    expect((data['listings'] as object[])[0]).not.toHaveProperty('seller_is_maintainer');
    const { data: one } = await host.call('show', { listing_id: ofStranger });
    expect(one['comments']).toMatchObject([{ handle: 'keeper', maintainer: true }, { handle: 'a-stranger' }]);
    await host.close();
  });
});

describe('a name that shows nothing, or looks like another one', () => {
  test('is no title, no store line and no comment where nothing of it can be seen', async () => {
    const { key } = keeper;
    for (const [path, body] of [
      ['/api/listing', newGoods({ title: BLANK })],
      ['/api/listing', newGoods({ title: ` ${BLANK} \u00a0` })],
      ['/api/store', { line: BLANK }],
      ['/api/comment', { listing_id: ofStranger, body: BLANK }],
    ] as const) {
      const { status, body: problem } = await world.ask('POST', path, { key, body });
      expect([path, status, problem['reason']]).toEqual([path, 400, 'invalid_fields']);
    }
    const { status } = await world.ask('PATCH', `/api/listing/${ofKeeper}`, { key, body: { title: BLANK } });
    expect(status).toBe(400);
    expect((await world.ask('POST', '/api/store', { key, body: { line: '' } })).status).toBe(200);
  });

  test('is taken with a note in answers, tools, pages and the command line', async () => {
    const { body } = await world.ask('POST', '/api/listing', { key: keeper.key, body: newGoods({ title: DISGUISED }) });
    expect(body['listing']).toMatchObject({ title: DISGUISED, title_note: NOTE });
    const id = Number(body['listing_id']);
    expect((await world.ask('GET', `/api/listing/${id}`)).body['listing']).toMatchObject({ title_note: NOTE });
    expect((await world.ask('GET', `/api/listing/${ofKeeper}`)).body['listing']).not.toHaveProperty('title_note');
    const { body: browsed } = await callTool(world, 'browse');
    expect(browsed['listings']).toContainEqual(expect.objectContaining({ id, title_note: NOTE }));
    expect(await page(`/listing/${id}`)).toContain(`this title has ${NOTE}`);
    expect(await page('/shelves')).toContain('Look-alike letters');
    const market = world.url;
    expect((await cli.run(['show', String(id)], { market })).stdout).toContain(`warning: its title has ${NOTE}`);
    expect((await cli.run(['search'], { market })).stdout).toContain(`${DISGUISED} (${NOTE})`);
    const host = await startHostHere({ owner: await makeOwner({ market, wallet: buyerOne }), era: 'modern' });
    expect((await host.call('show', { listing_id: id })).data).toMatchObject({ title_note: NOTE });
    await host.close();
    const line = await world.ask('POST', '/api/store', { key: stranger.key, body: { line: DISGUISED } });
    expect(line.body['merchant']).toMatchObject({ store_line: DISGUISED, store_line_note: NOTE });
    expect(await page('/store/a-stranger')).toContain(`this line has ${NOTE}`);
  });
});

describe('votes of merchants that bought nothing', () => {
  test('count, and are told apart from those of buyers everywhere', async () => {
    const { database } = world.db;
    const { id } = await seedListing(database, stranger.id, { title: 'Voted up' });
    const fresh = await Promise.all(['fresh-one', 'fresh-two', 'fresh-three'].map((handle) => world.join(handle)));
    const vote = ({ key }: Member) => world.ask('POST', '/api/vote', { key, body: { listing_id: Number(id) } });
    for (const member of fresh) expect((await vote(member)).status).toBe(200);
    const figures = async () => {
      const { votes, votes_by_buyers } = (await world.ask('GET', `/api/listing/${id}`)).body['listing'] as Figures;
      return [votes, votes_by_buyers];
    };
    expect(await figures()).toEqual([3, 0]);
    // One of the voters becomes a buyer, and a buyer votes.
    const buyer = await world.join('true-buyer');
    await seedPaidPurchase(database, id, { merchantId: fresh[0]?.id ?? 0n });
    await seedPaidPurchase(database, id, { merchantId: buyer.id });
    expect((await vote(buyer)).status).toBe(200);
    expect(await figures()).toEqual([4, 2]);
    const market = world.url;
    expect(await page(`/listing/${id}`)).toMatch(/4, and 2 of them by buyers; a vote needs no purchase/);
    expect((await cli.run(['show', String(id)], { market })).stdout).toContain('4 votes (2 by buyers)');
    expect((await callTool(world, 'read_listing', { id: Number(id) })).body['listing']).toMatchObject({
      ...{ votes: 4, votes_by_buyers: 2 },
    });
    const host = await startHostHere({ owner: await makeOwner({ market, wallet: buyerOne }), era: 'modern' });
    const { data } = await host.call('show', { listing_id: Number(id) });
    expect(data).toMatchObject({ votes: 4, votes_by_buyers: 2 });
    await host.close();
    // The order by votes is unchanged.
    const { body } = await world.ask('GET', '/api/shelves?sort=karma&limit=1');
    expect(body['listings']).toMatchObject([{ id: Number(id), votes: 4 }]);
    expect(await database.rows(sql`select from votes where listing_id = ${id}`)).toHaveLength(4);
  });
});

interface Figures {
  votes: number;
  votes_by_buyers: number;
}

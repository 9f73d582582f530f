import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemRandom } from '../../src/platform/random.ts';
import { makePairingCode } from '../../src/platform/secrets.ts';
import { countRows } from '../support/database.ts';
import { KELVIN } from '../support/dressed-secrets.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { callTool } from '../support/mcp-ask.ts';
import { readMarkup, strangeTags } from '../support/read-markup.ts';
import { listGoods, newGoods } from '../support/trade.ts';

let world: World;
let keeper: Member;

beforeAll(async () => {
  world = await startWorld();
  // The maintainer lists free of charge.
  keeper = await world.join('the-keeper');
});
afterAll(() => world?.stop());

const KEYWORDS = ['late payments', '<b>DATEV</b> & more'];

it('keywords are given, read and edited over HTTP, and stand on the page and in the tools', async () => {
  const listed = await listGoods(world, keeper, newGoods({ keywords: KEYWORDS }));
  expect(listed).toMatchObject({ status: 201, body: { listing: { keywords: KEYWORDS } } });
  await world.running.eventsSettled();
  const id = Number(listed.body['listing_id']);
  expect((await world.ask('GET', `/api/listing/${id}`)).body).toMatchObject({ listing: { keywords: KEYWORDS } });
  expect((await world.ask('GET', '/api/shelves?limit=1')).body).toMatchObject({ listings: [{ keywords: KEYWORDS }] });
  const page = readMarkup(await (await fetch(`${world.url}/listing/${id}`)).text());
  expect(strangeTags(page.tags)).toEqual([]);
  for (const keyword of KEYWORDS) expect(page.text).toContain(keyword);
  const edited = await callTool(world, 'edit_item', { id, keywords: ['dunning'] }, { era: 'modern', key: keeper.key });
  expect(edited.body).toMatchObject({ listing: { keywords: ['dunning'] } });
  const path = `/api/listing/${id}`;
  expect((await world.ask('PATCH', path, { key: keeper.key, body: { keywords: [] } })).body).toMatchObject({
    listing: { keywords: [] },
  });
});

it('a tool lists goods with keywords', async () => {
  const goods = newGoods({ keywords: ['dunning'] });
  const listed = await callTool(world, 'list_item', goods, { era: 'modern', key: keeper.key });
  expect(listed.body).toMatchObject({ listing: { keywords: ['dunning'] } });
});

it('what breaks a rule is refused with its place, and changes nothing', async () => {
  const before = await countRows(world.db.database);
  for (const [keywords, path] of [
    [['a'.repeat(41)], 'keywords.0'],
    [['one', 'ONE'], 'keywords'],
    [['one', 'two\nlines'], 'keywords.1'],
    [['csv, pdf'], 'keywords.0'],
    ['csv', 'keywords'],
  ] as const) {
    const answer = await listGoods(world, keeper, newGoods({ keywords }));
    expect(answer).toMatchObject({ status: 400, body: { reason: 'invalid_fields', errors: [{ path }] } });
  }
  expect(await countRows(world.db.database)).toEqual(before);
});

it('a secret in keywords is refused, also as NFC would make it, and comes back nowhere', async () => {
  const code = makePairingCode(systemRandom, 'aisle');
  const before = await countRows(world.db.database);
  for (const keyword of [code, ` ${code} `, 'aisle_pc_K123P-45674-89AB5'.replace('K', KELVIN)]) {
    const answer = await listGoods(world, keeper, newGoods({ keywords: ['csv', keyword] }));
    expect(answer).toMatchObject({ status: 400, body: { reason: 'secret_in_payload' } });
    expect(JSON.stringify(answer.body)).not.toContain(code);
  }
  expect(await countRows(world.db.database)).toEqual(before);
  expect(inspect(world.logLines, { depth: null })).not.toContain(code);
});

import { afterAll, beforeAll, expect, it } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../../test/support/database.ts';
import { marketContext } from '../../../../test/support/market-context.ts';
import { readMarkup } from '../../../../test/support/read-markup.ts';
import { recordingLog } from '../../../../test/support/recording-log.ts';
import { seedMerchant, seedStock } from '../../../../test/support/seed.ts';
import { createMarket, type RunningMarket } from '../../create-market.ts';

const GOODS = 33;

let test: TestDatabase & { drop(): Promise<void> };
let running: RunningMarket;
let url = '';

beforeAll(async () => {
  test = await createTestDatabase({ inventedEvents: true });
  const { database } = test;
  const { id } = await seedMerchant(database, { handle: 'ink' });
  const stock = Array.from({ length: GOODS }, (_, at) => ({
    title: `Goods number ${at + 1}`,
    description: `What it is, said of ${at + 1}`,
  }));
  await seedStock(database, id, stock);
  running = createMarket({ ...marketContext({ database }), log: recordingLog().log });
  url = (await running.http.listen({ host: '127.0.0.1', port: 0 })).url;
  await running.eventsSettled();
});
afterAll(async () => {
  await running.http.close({ drainMs: 500 });
  await running.stop({ drainMs: 0 });
  await test.drop();
});

async function open(path: string) {
  const answer = await fetch(`${url}${path}`, { headers: { accept: 'text/html' } });
  const body = await answer.text();
  return { status: answer.status, body, ...readMarkup(body) };
}

const linksIn = ({ tags }: { tags: ReturnType<typeof readMarkup>['tags'] }): string[] =>
  tags.filter(({ name }) => name === 'a').map(({ attributes }) => attributes.get('href') ?? '');

it('what was searched in place of what was typed stands above the listings, with a way to search exactly', async () => {
  const said = async (q: string, more = ''): Promise<string> =>
    readMarkup(/<p class="searched">.*?<\/p>/.exec((await open(`/shelves?q=${q}${more}`)).body)?.[0] ?? '').text.trim();
  expect(await said('goods+number')).toBe('');
  expect(await said('the+goods+of+number')).toBe('');
  expect(await said('number+godos')).toBe(
    'No listing has godos. Showing results for number goods. Search exactly as typed.',
  );
  expect(await said('godos+zzzqqq')).toBe(
    'No listing has godos or zzzqqq. Showing results for goods. Search exactly as typed.',
  );
  expect(await said('goods+zzzqqq')).toBe('No listing has zzzqqq. Showing results for goods.');
  expect(await said('7+8')).toBe('No listing has all of these words. These come closest.');
  expect(await said('zzzqqq')).toBe('No listing has zzzqqq.');
  expect(await said('godos', '&price=0&free=false')).toBe(
    'No listing has godos. Nothing fits goods either. Search exactly as typed.',
  );
  const corrected = await open('/shelves?q=godos&sort=price_asc');
  expect(corrected.text).toContain(`${GOODS} listings for godos`);
  const exact = linksIn(corrected).find((link) => link.includes('match=all')) ?? '';
  expect(exact).toBe('/shelves?q=godos&match=all&sort=price_asc');
  const near = await open(exact);
  expect(near.text).toContain('Did you mean goods?');
  expect(linksIn(near)).toContain('/shelves?q=goods&sort=price_asc');
  const all = await open('/shelves?q=number+7&match=all');
  expect(all.text).toContain('1 listing with every word of number 7.');
  const none = await open('/shelves?q=7+8&match=all');
  expect(none.text).toContain('Nothing here has every word as typed. Search for any of them.');
  expect(linksIn(none)).toContain('/shelves?q=7+8');
  expect((await open('/shelves?q=7&match=most')).status).toBe(400);
});

it('the search field takes a need as long as the route does', async () => {
  const { tags } = await open('/shelves');
  const field = tags.find(({ attributes }) => attributes.get('id') === 'q')?.attributes;
  expect(field?.get('placeholder')).toBe('Describe what you need');
  const longest = 'goods '.repeat(40).slice(0, Number(field?.get('maxlength')));
  expect((await fetch(`${url}/api/shelves?q=${longest}`)).status).toBe(200);
  expect((await fetch(`${url}/api/shelves?q=${longest}x`)).status).toBe(400);
});

import sql from 'sql-template-tag';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Aisle } from '../../src/contract/vocabulary.ts';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import { createTestDatabase } from '../support/database.ts';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { marketContext, settableClock } from '../support/market-context.ts';
import { recordingLog } from '../support/recording-log.ts';
import {
  removeListing,
  seedEvent,
  seedMerchant,
  seedPaidPurchase,
  seedStock,
  withdrawListing,
} from '../support/seed.ts';
import { testBrowser } from './browser.ts';

const NOON = Date.UTC(2026, 0, 8, 12, 5, 0);
const STOCK: readonly [title: string, aisle: Aisle, usdc: number, description: string][] = [
  [
    'Reading of invoices in eleven languages',
    'skills',
    4,
    'A skill file with forty checked examples. Finds totals, VAT numbers and due dates, and says how sure it is.',
  ],
  [
    'Prompt that keeps a coding agent from guessing',
    'prompts',
    0.5,
    'Two hundred words. Measured on three models over 600 tasks; the numbers are in the preview.',
  ],
  [
    'Postgres index advisor, as an MCP server',
    'tools',
    12.5,
    'Reads pg_stat_statements and proposes indexes with the queries they help.',
  ],
  [
    'Opening hours of 41,000 European bakeries',
    'data',
    25,
    'CSV, UTF-8, checked by phone in the last quarter. One row for each weekday.',
  ],
  [
    'What regulators said about agents in 2025',
    'knowledge',
    8,
    'Forty pages with every source linked. Nothing in it is generated without a source.',
  ],
  [
    'Translation of a contract, by the page',
    'services',
    3.25,
    'German to English by a pipeline with two readers. Send the text after buying.',
  ],
  ['Wanted: tide tables for small harbours', 'wanted', 0, 'I pay for good ones. Say what you have in the comments.'],
  [
    'A regular expression for every IBAN',
    'other',
    0,
    'All countries of the registry, with tests. Free, because it should be.',
  ],
  [
    'Handwriting of 1,900 clerks, transcribed',
    'data',
    149.999999,
    'Line images with text and the name of the office. The licence is in the archive.',
  ],
  [
    'Answering customers who are angry',
    'skills',
    2,
    'What to say first, what never to promise, when to hand over to a person.',
  ],
];

const browser = testBrowser();
let running: RunningMarket;
let drop: () => Promise<void>;
let url = '';
const ids: bigint[] = [];

beforeAll(async () => {
  const test = await createTestDatabase();
  const { database } = test;
  drop = test.drop;
  const clock = settableClock(NOON);
  const { config, pepper, random } = marketContext({ database, clock });
  running = createMarket({ config, database, clock, log: recordingLog().log, pepper, random });
  const sellers: bigint[] = [];
  for (const handle of ['openaisle', 'ink-and-paper', 'tidewater', 'second-reader', 'quiet-hours'])
    sellers.push((await seedMerchant(database, { handle })).id);
  await database.run(
    sql`update merchants set store_line = 'Small tools, tested on real invoices' where handle = 'ink-and-paper'`,
  );
  for (let round = 3; round >= 0; round -= 1) {
    for (const [at, [title, aisle, usdc, description]] of STOCK.entries()) {
      const goods = {
        title: round === 0 ? title : `${title}, part ${5 - round}`,
        aisle,
        description,
        preview: PREVIEW,
        tags: ['checked', 'english'],
      };
      const [id = 0n] = await seedStock(database, sellers[at % sellers.length] ?? 1n, [
        { ...goods, priceUnits: BigInt(Math.round(usdc * 1e6)) },
      ]);
      if (round === 0) ids.push(id);
    }
  }
  const [first = 0n] = ids;
  for (const payer of [3n, 4n]) await seedPaidPurchase(database, ids[2] ?? first, { merchantId: payer });
  await database.run(
    sql`update listings set text_flags = '{payment_request,instructions}' where id = ${ids[1] ?? first}`,
  );
  await database.run(sql`
    insert into comments (id, listing_id, merchant_id, parent_id, body, created_at) values
      (1, ${ids[2] ?? first}, 3, null, 'Works on the queries of our warehouse. Two of its nine proposals were wrong, and it said so itself.', ${new Date(NOON - 7_200_000)}),
      (2, ${ids[2] ?? first}, 2, 1, 'Thank you. Which two? See https://example.org/notes for what it looks at.', ${new Date(NOON - 3_600_000)})`);
  await removeListing(database, ids[4] ?? first);
  await database.run(sql`
    insert into appeals (removal_id, listing_id, statement, created_at)
    select id, listing_id, 'Every source is linked on page two. Nothing in it is secret.', ${new Date(NOON - 1_800_000)} from removals`);
  await withdrawListing(database, ids[5] ?? first);
  await seedEvent(database, 'register', {}, 'quiet-hours');
  for (const id of ids.slice(0, 4)) await seedEvent(database, 'listing', { listing_id: Number(id) }, 'ink-and-paper');
  await seedEvent(database, 'sale', { listing_id: Number(ids[2]) }, 'tidewater');
  await running.eventsSettled();
  url = (await running.http.listen({ host: '127.0.0.1', port: 0 })).url;
});
afterAll(async () => {
  await running.http.close({ drainMs: 500 });
  await running.stop({ drainMs: 0 });
  await drop();
});

const PREVIEW = `From the first page:

  total      1.284,00 EUR   sure
  due        14 March       sure
  VAT        DE811569869    checked against the register

The rest is like this.`;

it('every page of the storefront can be read at every width, light and dark, and axe finds nothing', async () => {
  const visitor = await browser.visitor();
  const pages: [string, string][] = [
    ['/', 'storefront'],
    ['/shelves', 'shelves'],
    ['/shelves?q=invoices&sort=price_asc&free=false', 'shelves-searched'],
    ['/shelves?q=nothingofthekind', 'shelves-nothing'],
    [`/listing/${ids[2]}`, 'listing'],
    [`/listing/${ids[1]}`, 'listing-flagged'],
    [`/listing/${ids[4]}`, 'listing-removed'],
    [`/listing/${ids[5]}`, 'listing-withdrawn'],
    ['/store/ink-and-paper', 'store'],
    ['/merchants', 'merchants'],
    ['/listing/999999', 'listing-unknown'],
  ];
  for (const [path, name] of pages) {
    await visitor.page.goto(`${url}${path}`);
    expect([path, await visitor.findings()]).toEqual([path, []]);
    await visitor.shoot(name);
  }
  // The page that is not there says so to the console as well.
  expect(visitor.complaints.filter((one) => !one.includes('404'))).toEqual([]);
  await visitor.close();
});

it('without scripts a person finds goods by words and reads them', async () => {
  const visitor = await browser.visitor({ javaScriptEnabled: false });
  const { page } = visitor;
  await page.goto(url);
  await page.fill('input[type=search]', 'index advisor');
  await page.click('form.search button');
  await page.click('.title >> nth=0');
  expect(await page.textContent('h1')).toContain('Postgres index advisor');
  expect(await page.textContent('main')).toContain('/api/buy/');
  await visitor.close();
});

it('hostile texts run nothing', async () => {
  const { database } = running.market;
  const { id } = await seedMerchant(database, { handle: 'rogue' });
  const made = await seedStock(
    database,
    id,
    HOSTILE_TEXTS.map((text) => ({ title: text, description: text, preview: text })),
  );
  await running.eventsSettled();
  const visitor = await browser.visitor({ bypassCSP: true });
  const { page } = visitor;
  let dialogs = 0;
  page.on('dialog', (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  for (const path of ['/', '/shelves', '/store/rogue', ...made.map((one) => `/listing/${one}`)]) {
    await page.goto(`${url}${path}`);
    expect([path, await page.locator('h1').count()]).toEqual([path, 1]);
  }
  await page.goto(`${url}/store/rogue`);
  await visitor.shoot('store-hostile');
  await page.goto(`${url}/listing/${made.at(-2)}`);
  await visitor.shoot('listing-hostile');
  expect(dialogs).toBe(0);
  expect(visitor.complaints).toEqual([]);
  await visitor.close();
});

import sql from 'sql-template-tag';
import { afterAll, beforeAll } from 'vitest';
import type { Aisle } from '../../src/contract/vocabulary.ts';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { rotated } from '../suite/rotation.ts';
import { createTestDatabase } from '../support/database.ts';
import { marketContext, settableClock } from '../support/market-context.ts';
import { recordingLog } from '../support/recording-log.ts';
import {
  removeListing,
  seedEvent,
  seedFee,
  seedMerchant,
  seedPaidPurchase,
  seedStock,
  withdrawListing,
} from '../support/seed.ts';

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

const PREVIEW = `From the first page:

  total      1.284,00 EUR   sure
  due        14 March       sure
  VAT        DE811569869    checked against the register

The rest is like this.`;

const LONG_COMMENTS = 20;

/** A market with some history: forty listings of five merchants, with sales, comments, a removal and an appeal. */
export interface StorefrontGround {
  url: string;
  running: RunningMarket;
  /** One listing of each kind of goods, newest first. */
  ids: readonly bigint[];
}

/** Lists the pages for people, with a name for their pictures, as far as this build checks them. */
export function pagesOf(ids: readonly bigint[]): readonly [path: string, name: string][] {
  return rotated<[path: string, name: string]>(import.meta.filename, [
    ['/', 'storefront'],
    ['/shelves', 'shelves'],
    ['/shelves/data', 'shelves-aisle'],
    ['/shelves?q=invoices&sort=price_asc&free=false', 'shelves-searched'],
    ['/shelves?q=reading+of+invioces+zzzqqq', 'shelves-corrected'],
    ['/shelves?q=nothingofthekind', 'shelves-nothing'],
    [`/listing/${ids[2]}`, 'listing'],
    [`/listing/${ids[3]}`, 'listing-talked-about'],
    [`/listing/${ids[1]}`, 'listing-flagged'],
    [`/listing/${ids[6]}`, 'listing-free'],
    [`/listing/${ids[4]}`, 'listing-removed'],
    [`/listing/${ids[5]}`, 'listing-withdrawn'],
    ['/store/ink-and-paper', 'store'],
    ['/merchants', 'merchants'],
    ['/window', 'window'],
    ['/events', 'events'],
    ['/moderation', 'moderation'],
    ['/treasury', 'treasury'],
    ['/about', 'about'],
    ['/terms', 'terms'],
    ['/privacy', 'privacy'],
    ['/support', 'support'],
    ['/changelog', 'changelog'],
    ['/docs', 'docs'],
    ['/docs/errors', 'refusals'],
    ['/help', 'help'],
    ['/city-bridge', 'city-bridge'],
    ['/join', 'join'],
    ['/rotate', 'rotate'],
    ['/recovery', 'recovery'],
  ]);
}

export const REFUSED_PAGES: [path: string, name: string][] = [
  ['/listing/999999', 'listing-unknown'],
  ['/shelves?price=much', 'shelves-refused'],
  ['/nowhere', 'nowhere'],
];

/** Creates one market for all tests of a file. */
export function storefrontGround(): StorefrontGround {
  let made: (StorefrontGround & { close(): Promise<void> }) | null = null;
  beforeAll(async () => {
    made = await openGround();
  });
  afterAll(async () => {
    await made?.close();
  });
  return new Proxy({} as StorefrontGround, {
    get: (_target, name: keyof StorefrontGround) => {
      if (made === null) throw new Error('the market runs only while tests do');
      return made[name];
    },
  });
}

async function openGround(): Promise<StorefrontGround & { close(): Promise<void> }> {
  const { database, drop } = await createTestDatabase({ inventedEvents: true });
  const clock = settableClock(NOON);
  const { config, pepper, random } = marketContext({ database, clock });
  const explorerUrl = 'https://explorer.example';
  const running = createMarket({
    ...{ config: { ...config, explorerUrl }, database, clock, log: recordingLog().log, pepper, random },
  });
  const ids = await seedGoods(database);
  await seedLife(database, ids);
  await running.eventsSettled();
  const { url } = await running.http.listen({ host: '127.0.0.1', port: 0 });
  const close = async (): Promise<void> => {
    await running.http.close({ drainMs: 500 });
    await running.stop({ drainMs: 0 });
    await drop();
  };
  return { url, running, ids, close };
}

async function seedGoods(database: Database): Promise<bigint[]> {
  const sellers: bigint[] = [];
  for (const handle of ['openaisle', 'ink-and-paper', 'tidewater', 'second-reader', 'quiet-hours'])
    sellers.push((await seedMerchant(database, { handle })).id);
  await database.run(
    sql`update merchants set store_line = 'Small tools, tested on real invoices' where handle = 'ink-and-paper'`,
  );
  const newest: bigint[] = [];
  for (let round = 3; round >= 0; round -= 1) {
    for (const [at, [title, aisle, usdc, description]] of STOCK.entries()) {
      const goods = {
        title: round === 0 ? title : `${title}, part ${5 - round}`,
        ...{ aisle, description, preview: PREVIEW, tags: ['checked', 'english'], keywords: ['slow query', 'EXPLAIN'] },
      };
      const [id = 0n] = await seedStock(database, sellers[at % sellers.length] ?? 1n, [
        { ...goods, priceUnits: BigInt(Math.round(usdc * 1e6)) },
      ]);
      if (round === 0) newest.push(id);
    }
  }
  return newest;
}

async function seedLife(database: Database, ids: readonly bigint[]): Promise<void> {
  const id = (at: number): bigint => ids[at] ?? 0n;
  for (const payer of [3n, 4n]) await seedPaidPurchase(database, id(2), { merchantId: payer });
  for (const seller of [2n, 3n, 2n]) await seedFee(database, seller);
  await database.run(sql`update listings set text_flags = '{payment_request,instructions}' where id = ${id(1)}`);
  await database.run(sql`
    insert into comments (id, listing_id, merchant_id, parent_id, body, created_at) values
      (1, ${id(2)}, 3, null, 'Works on the queries of our warehouse. Two of its nine proposals were wrong, and it said so itself.', ${new Date(NOON - 7_200_000)}),
      (2, ${id(2)}, 2, 1, 'Thank you. Which two? See https://example.org/notes for what it looks at.', ${new Date(NOON - 3_600_000)})`);
  await database.run(sql`
    insert into comments (id, listing_id, merchant_id, body, created_at)
    select 10 + n, ${id(3)}, 2 + n % 3, n || ': ' || (select string_agg(md5((n * 100 + w)::text), ' ') from generate_series(1, 60) w),
      ${new Date(NOON - 3_000_000)} from generate_series(1, ${LONG_COMMENTS}) n`);
  await removeListing(database, id(4));
  await database.run(sql`
    insert into appeals (removal_id, listing_id, statement, created_at)
    select id, listing_id, 'Every source is linked on page two. Nothing in it is secret.', ${new Date(NOON - 1_800_000)} from removals`);
  await withdrawListing(database, id(5));
  await seedEvent(database, 'register', {}, 'quiet-hours');
  for (const one of ids.slice(0, 4)) await seedEvent(database, 'listing', { listing_id: Number(one) }, 'ink-and-paper');
  await seedEvent(database, 'sale', { listing_id: Number(id(2)) }, 'tidewater');
}

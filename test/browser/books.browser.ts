import { afterAll, beforeAll, expect, it } from 'vitest';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { createMarket, type RunningMarket } from '../../src/market/create-market.ts';
import { startTestChain, usdcAdmin } from '../support/chain.ts';
import { createTestDatabase, severableDatabase, type TestDatabase } from '../support/database.ts';
import { marketContext, type SettableClock, settableClock } from '../support/market-context.ts';
import { recordingLog } from '../support/recording-log.ts';
import { seedFee, seedFreePurchase, seedListing, seedMerchant, seedPaidPurchase } from '../support/seed.ts';
import { seedFees } from '../support/seed-books.ts';
import { testBrowser, type Visitor } from './browser.ts';

const NOON = Date.UTC(2026, 0, 8, 12, 5, 0);
const LONGER_THAN_KEPT_MS = 60_000;
const TREASURY = '0x00000000000000000000000000000000000f00d1';

const browser = testBrowser();
let chain: LocalChain;
let test: TestDatabase & { drop(): Promise<void> };
let clock: SettableClock;
let running: RunningMarket;
let url = '';

beforeAll(async () => {
  chain = await startTestChain();
  test = await createTestDatabase();
  clock = settableClock(NOON);
  const { config, pepper, random } = marketContext({ database: test.database, clock });
  running = createMarket({
    config: { ...config, treasury: TREASURY, rpcUrls: [chain.url], explorerUrl: 'https://explorer.example' },
    database: test.database,
    clock,
    log: recordingLog().log,
    pepper,
    random,
  });
  url = (await running.http.listen({ host: '127.0.0.1', port: 0 })).url;
});
afterAll(async () => {
  await running.http.close({ drainMs: 500 });
  await running.stop({ drainMs: 0 });
  await test.drop();
  await chain.kill();
});

const later = (): void => clock.set(clock.now() + LONGER_THAN_KEPT_MS);

async function checkLook(visitor: Visitor, name: string, address = `${url}/treasury`): Promise<void> {
  await visitor.page.goto(address);
  expect([name, await visitor.findings()]).toEqual([name, []]);
  await visitor.shoot(name);
}

/** Waits until the page compares the newest books with the chain. A page that is requested too early shows older books. */
async function expectNotice({ page }: Visitor, text: string): Promise<void> {
  const notice = async (): Promise<string | null> => {
    await page.reload();
    return await page.textContent('.notice');
  };
  await expect.poll(notice).toContain(text);
}

async function openAll({ page }: Visitor): Promise<void> {
  for (const summary of await page.locator('details.figures > summary').all()) await summary.click();
}

/** Lists chart labels that overflow the page or overlap each other. */
const CROWDED = `[...document.querySelectorAll('svg.chart')].flatMap((chart) => {
  const boxes = [...chart.querySelectorAll('text')].map((text) => [text.textContent, text.getBoundingClientRect()]);
  const over = boxes.filter(([, { left, right }]) => left < 0 || right > document.documentElement.clientWidth);
  const on = boxes.filter(([, one], at) => boxes.slice(0, at).some(([, other]) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom));
  return [...over, ...on].map(([text]) => text);
})`;

it('the books can be read with none, one, two and ten thousand fees, at every width, light and dark', async () => {
  const { database } = test;
  const visitor = await browser.visitor();
  await checkLook(visitor, 'treasury-empty');
  const sellers: bigint[] = [];
  for (const handle of ['openaisle', 'ink-and-paper', 'tidewater', 'second-reader', 'quiet-hours-of-the-long-handles'])
    sellers.push((await seedMerchant(database, { handle })).id);
  await seedFee(database, sellers[1] ?? 1n);
  await usdcAdmin(chain).mint(TREASURY, 1_000_000n);
  later();
  await checkLook(visitor, 'treasury-one');
  await expectNotice(visitor, 'They agree');
  await seedFee(database, sellers[2] ?? 1n);
  later();
  await checkLook(visitor, 'treasury-two');
  await expectNotice(visitor, '1.00 USDC less');
  for (let at = 0; at < 20; at += 1) sellers.push((await seedMerchant(database, { handle: `stand-${at}` })).id);
  await seedFees(database, 10_000, {
    merchants: sellers,
    from: new Date(NOON - 300 * 86_400_000),
    to: new Date(NOON - 3_600_000),
  });
  await seedSales(sellers);
  await usdcAdmin(chain).mint(TREASURY, 10_012_340_000n);
  await running.eventsSettled();
  later();
  await checkLook(visitor, 'treasury-many');
  await expectNotice(visitor, '11.34 USDC more');
  for (const width of [320, 390, 820, 1440]) {
    await visitor.page.setViewportSize({ width, height: 900 });
    expect([width, await visitor.page.evaluate<string[]>(CROWDED)]).toEqual([width, []]);
  }
  await openAll(visitor);
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('treasury-tables');
  await checkLook(visitor, 'treasury-older', `${url}/treasury?before_id=9000`);
  expect(visitor.complaints).toEqual([]);
  await visitor.close();
});

async function seedSales(sellers: readonly bigint[]): Promise<void> {
  const { database } = test;
  for (const [at, aisle] of (['data', 'tools', 'skills', 'knowledge', 'services'] as const).entries()) {
    const { id } = await seedListing(database, sellers[at] ?? 1n, {
      aisle,
      priceUnits: 12_500_000n / BigInt(at * at + 1),
    });
    for (let sold = 0; sold < 6 - at; sold += 1) await seedPaidPurchase(database, id);
  }
  const { id } = await seedListing(database, sellers[0] ?? 1n, { aisle: 'other', priceUnits: 0n });
  await seedFreePurchase(database, id, sellers[3] ?? 1n);
}

it('without scripts every number is there, and every table opens', async () => {
  const visitor = await browser.visitor({ javaScriptEnabled: false });
  const { page } = visitor;
  await page.goto(`${url}/treasury`);
  const main = (await page.textContent('main')) ?? '';
  for (const text of ['10,002.00 USDC', '14 merchants have paid', '4 other merchants', '20 sales', 'Data'])
    expect(main).toContain(text);
  await page.click('details.figures >> nth=1 >> summary');
  expect(await page.locator('details.figures >> nth=1 >> tbody tr').count()).toBe(11);
  expect(await page.locator('.fee').count()).toBe(25);
  await page.click('a[rel=next]');
  expect(await page.textContent('h1')).toBe('Older fees');
  expect(await page.textContent('.fee .number >> nth=0')).toBe('Fee 9977');
  await visitor.close();
});

it('by keyboard alone the address is copied, a table opened and a fee followed', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: url });
  await page.goto(`${url}/treasury`);
  await visitor.tabTo('button[data-copy=address]');
  await page.keyboard.press('Enter');
  // Use a locator, because from its second poll on waitForFunction evaluates code in the page, which the policy forbids.
  await page.locator('#said', { hasText: /^Copied\.$/ }).waitFor({ state: 'attached' });
  expect((await page.evaluate<string>('navigator.clipboard.readText()')).toLowerCase()).toBe(TREASURY);
  await visitor.tabTo('details.figures >> nth=0 >> summary');
  await page.keyboard.press('Enter');
  expect(await page.locator('details.figures >> nth=0').getAttribute('open')).not.toBeNull();
  await visitor.tabTo('details.figures >> nth=1 >> summary');
  await page.keyboard.press('Enter');
  await visitor.tabTo('details.figures >> nth=1 >> tbody a >> nth=0');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/store/openaisle');
  expect(visitor.complaints).toEqual([]);
  await visitor.close();
});

it('says so when the books cannot be read, and draws no empty chart', async () => {
  const severable = await severableDatabase(test.url);
  const { config, pepper, random } = marketContext({ database: severable.database, clock });
  const log = recordingLog().log;
  const away = createMarket({ config, database: severable.database, clock, log, pepper, random });
  const address = (await away.http.listen({ host: '127.0.0.1', port: 0 })).url;
  const visitor = await browser.visitor();
  await severable.sever();
  await checkLook(visitor, 'treasury-failed', `${address}/treasury`);
  expect(await visitor.page.locator('svg.chart').count()).toBe(0);
  await visitor.close();
  await away.http.close({ drainMs: 0 });
  await away.stop({ drainMs: 0 });
  await severable.close();
});

it('says so when the chain does not answer', async () => {
  const visitor = await browser.visitor();
  await chain.kill();
  later();
  await checkLook(visitor, 'treasury-unknown');
  expect(await visitor.page.textContent('.notice')).toContain('The chain does not answer just now');
  expect(await visitor.page.textContent('main')).toContain('10,002.00 USDC');
  await visitor.close();
});

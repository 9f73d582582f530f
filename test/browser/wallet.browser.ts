import { inspect } from 'node:util';
import type { Route } from 'playwright-core';
import { describe, expect, it } from 'vitest';
import { overhear } from './overhear.ts';
import { beyondRefusals, type Shopper, walletStage } from './wallet-stage.ts';

// Someone buys with a wallet in a real browser, against a real chain, token contract and facilitator. Whatever happens to the page, there is
// exactly one payment.

const { world, goods, shopper } = await walletStage();

const proofOf = (route: Route): string | undefined => route.request().headers()['payment-signature'];

/** Aborts requests that carry a proof, until released. */
async function holdProofs({ page }: Shopper): Promise<{ sent: Promise<string>; release(): Promise<void> }> {
  let heard = (_proof: string): void => {};
  const sent = new Promise<string>((resolve) => {
    heard = resolve;
  });
  await page.route('**/api/buy/*', async (route) => {
    const proof = proofOf(route);
    if (proof === undefined) return await route.continue();
    heard(proof);
    await route.abort();
  });
  return { sent, release: () => page.unroute('**/api/buy/*') };
}

const bought = ({ page }: Shopper) => page.locator('#matches', { hasText: /^matches$/ }).waitFor();

async function expectBoughtOnce(person: Shopper, artifact: string, price: bigint): Promise<void> {
  await bought(person);
  expect(await person.page.locator('.artifact').innerText()).toBe(artifact);
  expect(await person.paid()).toEqual([price]);
  expect(person.wallet.signed).toHaveLength(1);
}

it('by keyboard alone: found on the shelves, read, bought, waited for, read; secrets go nowhere but to the market', async () => {
  const listed = await goods({ title: 'Postgres index advisor for warehouses' });
  const person = await shopper();
  const { visitor, page, wallet } = person;
  const heard = overhear(visitor);
  await page.goto(`${world.url}/shelves`);
  await visitor.tabTo('input[type=search]');
  await page.keyboard.type('index advisor');
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
  await visitor.tabTo('.row-of-goods .title');
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
  expect(await page.locator('h1').innerText()).toBe(listed.title);
  await visitor.tabTo(`a[href="/listing/${listed.id}/buy"]`);
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
  await page.locator('#wallet-0').waitFor();
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('wallet-choose');
  await visitor.tabTo('#wallet-0');
  await page.keyboard.press('Enter');
  await page.locator('#sign').waitFor();
  expect(wallet.asked).not.toContain('eth_signTypedData_v4');
  expect(await page.evaluate<string>('document.activeElement.id')).toBe('stage-title');
  await visitor.tabTo('#whole summary');
  await page.keyboard.press('Enter');
  const shown: unknown = JSON.parse(await page.locator('#message').innerText());
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('wallet-confirm');
  await visitor.tabTo('#sign');
  await page.keyboard.press('Enter');
  await page.locator('.money.paid').waitFor();
  expect(wallet.signed).toEqual([shown]);
  const said = await person.readPage();
  expect(said).toContain('You have paid. Do not pay again.');
  expect(said).toMatch(/0 of \d+ blocks to final/);
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('wallet-settled');
  const saved = JSON.parse(String(await page.evaluate(`localStorage['openaisle:proof:${listed.id}']`)));
  await world.finalize();
  await expectBoughtOnce(person, listed.artifact, listed.price);
  expect(await person.readPage()).toContain('You have paid. Do not pay again.');
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('wallet-goods');

  const { proof, delivery_token: token } = saved.payment;
  expect([typeof proof.header.value, typeof token]).toEqual(['string', 'string']);
  const places = async (secret: string) => new Set(await heard.placesOf(secret));
  expect(await places(proof.header.value)).toEqual(new Set([`POST /api/buy/${listed.id} payment-signature`]));
  expect([...(await places(token))].filter((one) => !one.endsWith(' x-delivery-token'))).toEqual([]);
  const { signature } = JSON.parse(Buffer.from(proof.header.value, 'base64').toString('utf8')).payload;
  expect([...(await places(signature))].filter((one) => !one.endsWith(' payment-signature'))).toEqual([]);
  const log = inspect(world.logLines, { depth: 12, maxArrayLength: null, maxStringLength: null });
  expect(log).toContain('/api/buy/:id');
  for (const secret of [proof.header.value, token, signature]) expect(log.includes(secret)).toBe(false);
  expect(await visitor.kept()).not.toContain(signature);
  const origins = heard.readAllSent().match(/https?:\/\/[^/\s]+/g) ?? [];
  expect(new Set(origins)).toEqual(new Set([world.url]));
  expect(beyondRefusals(visitor)).toEqual([]);
  await visitor.close();
});

describe('a reload pays nothing twice', () => {
  it('after signing, before anything was sent', async () => {
    const listed = await goods();
    const person = await shopper();
    const { page } = person;
    const held = await holdProofs(person);
    await person.toMessage(listed);
    await page.click('#sign');
    const first = await held.sent;
    await page.locator('.money', { hasText: 'You have signed.' }).waitFor();
    expect(await person.readPage()).not.toContain('You have paid');
    expect(await person.visitor.findings()).toEqual([]);
    await person.visitor.shoot('wallet-signed');
    await held.release();
    const next = page.waitForRequest((request) => request.headers()['payment-signature'] !== undefined);
    await page.reload();
    expect((await next).headers()['payment-signature']).toBe(first);
    await page.locator('.money.paid').waitFor();
    await world.finalize();
    await expectBoughtOnce(person, listed.artifact, listed.price);
    await person.visitor.close();
  });

  it('where the connection was cut right after the proof had arrived', async () => {
    const listed = await goods();
    const person = await shopper();
    const { page } = person;
    let cuts = 0;
    await page.route('**/api/buy/*', async (route) => {
      if (proofOf(route) === undefined || cuts > 0) return await route.continue();
      cuts += 1;
      await route.fetch();
      await route.abort('connectionreset');
    });
    await person.toMessage(listed);
    await page.click('#sign');
    await page.locator('.money.paid').waitFor();
    expect(cuts).toBe(1);
    await page.reload();
    await page.locator('.money.paid').waitFor();
    await world.finalize();
    await expectBoughtOnce(person, listed.artifact, listed.price);
    await person.visitor.close();
  });

  it('where the tab was closed before the first answer, and the transfer became final meanwhile', async () => {
    const listed = await goods();
    const person = await shopper();
    const { page } = person;
    let answered = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      answered = resolve;
    });
    await page.route('**/api/buy/*', async (route) => {
      if (proofOf(route) === undefined) return await route.continue();
      await route.fetch();
      answered();
      // Send nothing back, so that the tab never gets the answer.
    });
    await person.toMessage(listed);
    await page.click('#sign');
    await arrived;
    await page.close();
    await world.finalize();
    const { page: later } = await person.visitor.tab();
    await later.goto(`${world.url}/listing/${listed.id}/buy`);
    await later.locator('#matches', { hasText: /^matches$/ }).waitFor();
    const said = await later.locator('main').innerText();
    expect(said).toContain('You have paid. Do not pay again.');
    expect(said).toMatch(/Transaction 0x[0-9a-f]{64}/);
    expect(await later.locator('.steps .done').count()).toBe(4);
    expect(await later.locator('.artifact').innerText()).toBe(listed.artifact);
    expect([await person.paid(), person.wallet.signed.length]).toEqual([[listed.price], 1]);
    await person.visitor.close();
  });

  it('after settling, on the way to finality, and after delivery', async () => {
    const listed = await goods();
    const person = await shopper();
    const { page } = person;
    await person.toSettled(listed);
    await page.reload();
    await page.locator('.steps .now', { hasText: 'blocks to final' }).waitFor();
    await world.chain.mine(2);
    await page.reload();
    await page.locator('.steps .now', { hasText: /^[1-9] of \d+ blocks/ }).waitFor();
    expect(await person.readPage()).toContain('You have paid. Do not pay again.');
    await world.finalize();
    await expectBoughtOnce(person, listed.artifact, listed.price);
    for (let times = 0; times < 2; times += 1) {
      await page.reload();
      await expectBoughtOnce(person, listed.artifact, listed.price);
    }
    await person.visitor.close();
  });

  it('where the page was closed for a while, and the transfer became final meanwhile', async () => {
    const listed = await goods();
    const person = await shopper();
    await person.toSettled(listed);
    await person.page.goto(`${world.url}/about`);
    await world.finalize();
    await person.page.goto(`${world.url}/listing/${listed.id}/buy`);
    await expectBoughtOnce(person, listed.artifact, listed.price);
    await person.visitor.close();
  });
});

describe('two tabs', () => {
  it('at once ask for one signature, show the same, and the other takes over when the first is closed', async () => {
    const listed = await goods();
    const person = await shopper();
    await person.open(listed);
    const other = await person.visitor.tab();
    await other.page.goto(person.page.url());
    await other.page.locator('#wallet-0').waitFor();
    const tabs = [person.page, other.page];
    // Click without waiting for a stable button as Playwright does, because the second tab loses the button.
    await Promise.all(tabs.map((page) => page.evaluate(`document.getElementById('wallet-0')?.click()`)));
    const elsewhere = (page: (typeof tabs)[number]) => page.locator('[data-kind=elsewhere]');
    await expect
      .poll(async () => (await Promise.all(tabs.map((page) => elsewhere(page).count()))).sort())
      .toEqual([0, 1]);
    const leads = (await elsewhere(person.page).count()) === 0;
    const [first, second] = leads ? [person.page, other.page] : [other.page, person.page];
    await first.click('#sign');
    await first.locator('.money.paid').waitFor();
    await second.locator('.money.paid').waitFor();
    expect(await second.locator('#sign, #wallet-0').count()).toBe(0);
    expect(await person.visitor.findings()).toEqual([]);
    expect(await other.findings()).toEqual([]);
    await (leads ? person.visitor : other).shoot('wallet-first-tab');
    await (leads ? other : person.visitor).shoot('wallet-second-tab');
    await first.close();
    await second.locator('[data-kind=progress]').waitFor();
    await world.finalize();
    await second.locator('#matches').waitFor();
    expect(await person.paid()).toEqual([listed.price]);
    expect(person.wallet.signed).toHaveLength(1);
    await person.visitor.close();
  });

  it('one that is closed before anything is signed leaves the other free to buy', async () => {
    const listed = await goods();
    const person = await shopper();
    await person.open(listed);
    const other = await person.visitor.tab();
    await other.page.goto(person.page.url());
    await other.page.locator('#wallet-0').waitFor();
    await person.page.click('#wallet-0');
    await person.page.locator('#sign').waitFor();
    await other.page.locator('[data-kind=elsewhere]').waitFor();
    await person.page.close();
    await other.page.locator('#wallet-0').click();
    await other.page.locator('#sign').click();
    await other.page.locator('.money.paid').waitFor();
    await world.finalize();
    await other.page.locator('#matches').waitFor();
    expect([await person.paid(), person.wallet.signed.length]).toEqual([[listed.price], 1]);
    await person.visitor.close();
  });
});

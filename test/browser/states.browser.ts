import { beforeEach, expect, it } from 'vitest';
import { testBrowser, type Visitor } from './browser.ts';
import { browserMarket } from './market.ts';
import { CANCEL, CONFIRM, fillBack, fillJoin, heading, quickJoin, quickRecover, readShown, send } from './walk.ts';

// Every page in every state must have no axe findings and no overflow. Also takes pictures for people.

const browser = testBrowser();
const market = browserMarket();
const BEGIN = 'form[data-begin] button[type=submit]';
const MINUTE_MS = 60_000;

beforeEach(async () => {
  await market.reset();
});

async function checkLook(visitor: Visitor, name: string, title: string): Promise<void> {
  expect(await heading(visitor)).toBe(title);
  expect(await visitor.findings(), name).toEqual([]);
  await visitor.shoot(name);
}

/** Drops the browser's own errors about pages that are refusals. */
function realComplaints({ complaints }: Visitor): string[] {
  return complaints.filter(
    (text) => !/Failed to load resource: the server responded with a status of 4|503/.test(text),
  );
}

it('documents', async () => {
  const visitor = await browser.visitor();
  for (const [path, name, title] of [
    ['/', 'front-door', 'A market where agents sell to agents, and to people'],
    ['/docs/errors', 'refusals', 'Refusals'],
    ['/docs/errors/handle_taken', 'refusal', 'handle_taken'],
  ] as const) {
    await visitor.page.goto(`${market.url}${path}`);
    await checkLook(visitor, name, title);
  }
  expect(visitor.complaints).toEqual([]);
  await visitor.close();
});

it('joining, from the first step to the last', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.goto(`${market.url}/join`);
  await checkLook(visitor, 'join', 'Open a store');
  await page.fill('#handle', 'No Handle');
  await page.fill('#model', 'a model');
  await send(visitor, BEGIN);
  await checkLook(visitor, 'join-faults', 'Nothing was done');
  expect(await page.evaluate<string>('document.activeElement.id')).toBe('faults');
  expect([await page.inputValue('#handle'), await page.inputValue('#model')]).toEqual(['No Handle', 'a model']);
  await fillJoin(visitor, 'states-join');
  await send(visitor, BEGIN);
  const shown = await readShown(visitor);
  await checkLook(visitor, 'shown', 'Save this now');
  await fillBack(visitor, { ...shown, key: `${shown.key.slice(0, -1)}_` });
  await checkLook(visitor, 'shown-typed-wrong', 'Save this now');
  await fillBack(visitor, shown);
  await checkLook(visitor, 'shown-typed', 'Save this now');
  await page.goto(`${market.url}/join`);
  await checkLook(visitor, 'again', 'Shown already');
  await fillBack(visitor, { ...shown, key: 'not the key' });
  await send(visitor, CONFIRM);
  await checkLook(visitor, 'again-faults', 'Nothing was done');
  await page.goto(`${market.url}/recovery`);
  await checkLook(visitor, 'begun-elsewhere', 'Something else is begun');
  await page.goto(`${market.url}/join`);
  await market.openStore('states-join');
  await fillBack(visitor, shown);
  await send(visitor, CONFIRM);
  await checkLook(visitor, 'again-handle-taken', 'Nothing was done');
  await page.fill('#handle', 'states-other');
  await fillBack(visitor, shown);
  await send(visitor, CONFIRM);
  await checkLook(visitor, 'join-done', 'Your store is open');
  await page.goto(`${market.url}/join`);
  await checkLook(visitor, 'join-confirmed-already', 'Confirmed already');
  expect(realComplaints(visitor)).toEqual([]);
  await visitor.close();
});

it('rotating', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  const store = await market.openStore('states-rotate');
  await page.goto(`${market.url}/rotate`);
  await checkLook(visitor, 'rotate', 'Rotate a key');
  await page.fill('#merchant_key', 'aisle_sk_wrong');
  await send(visitor, BEGIN);
  await checkLook(visitor, 'rotate-faults', 'Nothing was done');
  expect(await page.inputValue('#merchant_key')).toBe('');
  await page.fill('#merchant_key', store.key);
  await send(visitor, BEGIN);
  const shown = await readShown(visitor);
  await checkLook(visitor, 'rotate-shown', 'Save this now');
  await fillBack(visitor, shown);
  await send(visitor, CONFIRM);
  await checkLook(visitor, 'rotate-done', 'The key is replaced');
  expect(realComplaints(visitor)).toEqual([]);
  await visitor.close();
});

it('recovering', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  const store = await market.openStore('states-recover');
  await page.goto(`${market.url}/recovery`);
  await checkLook(visitor, 'recovery', 'Recover a store');
  await quickRecover(visitor, market, 'nothing');
  await checkLook(visitor, 'recovery-faults', 'Nothing was done');
  await quickRecover(visitor, market, store.codes[0] ?? '');
  await send(visitor, CANCEL);
  await checkLook(visitor, 'recovery-canceled', 'Canceled');
  await quickRecover(visitor, market, store.codes[0] ?? '');
  const other = await browser.visitor();
  await quickRecover(other, market, store.codes[1] ?? '');
  await fillBack(other, await readShown(other));
  await send(other, CONFIRM);
  await checkLook(other, 'recovery-done', 'The store is yours again');
  await other.close();
  await page.goto(`${market.url}/recovery`);
  await checkLook(visitor, 'recovery-overtaken', 'Overtaken');
  await visitor.close();
});

it('what is over, full or closed', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  await quickJoin(visitor, market, 'states-late');
  market.clock.set(market.clock.now() + 15 * MINUTE_MS);
  await page.goto(`${market.url}/join`);
  await checkLook(visitor, 'expired', 'Out of time');
  market.limit('registration_per_ip_hour', 0);
  await fillJoin(visitor, 'states-late');
  await send(visitor, BEGIN);
  await checkLook(visitor, 'rate-limited', 'Nothing was done');
  expect(await page.locator('#faults').innerText()).toContain('Wait 40 minutes');
  await page.context().clearCookies();
  await send(visitor, BEGIN);
  await checkLook(visitor, 'out-of-date', 'This form was out of date');
  expect(await page.inputValue('#handle')).toBe('states-late');
  market.openIdentityEndpoints(['rotate']);
  await page.goto(`${market.url}/join`);
  await checkLook(visitor, 'closed', 'Open a store: closed');
  await visitor.close();
});

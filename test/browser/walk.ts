import { expect } from 'vitest';
import type { Visitor } from './browser.ts';
import type { BrowserMarket, OpenedStore } from './market.ts';

/** Reads key and codes from the page as a person would. */
export async function readShown({ page }: Visitor): Promise<{ key: string; codes: string[] }> {
  const key = await page.locator('#key').innerText();
  const codes = await page.locator('#codes code').allInnerTexts();
  return { key: key.trim(), codes: codes.map((code) => code.trim()) };
}

/** Types the requested secrets back by keyboard. The labels say which codes are requested. */
export async function typeBack(visitor: Visitor, { key, codes }: { key: string; codes: string[] }): Promise<void> {
  const { page } = visitor;
  await visitor.tabTo('#merchant_key');
  // Insert the text at once, as from the clipboard.
  await page.keyboard.insertText(key);
  if (codes.length === 0) return;
  for (const field of ['code_first', 'code_second']) {
    const label = await page.locator(`label[for=${field}]`).innerText();
    const number = Number(/^Code (\d)$/.exec(label)?.[1]);
    await visitor.tabTo(`#${field}`);
    await page.keyboard.type((codes[number - 1] ?? '').toLowerCase());
  }
}

export async function heading({ page }: Visitor): Promise<string> {
  return (await page.locator('main :is(h1, h2)').first().innerText()).trim();
}

export async function press(visitor: Visitor, selector: string, key = 'Enter'): Promise<void> {
  await visitor.tabTo(selector);
  await Promise.all([visitor.page.waitForEvent('load'), visitor.page.keyboard.press(key)]);
}

/** Completes the first step of /join by keyboard, up to the page that shows the secrets once. */
export async function beginJoin(visitor: Visitor, market: BrowserMarket, handle: string): Promise<void> {
  const { page } = visitor;
  await page.goto(`${market.url}/join`);
  await visitor.tabTo('#handle');
  await page.keyboard.type(handle);
  await visitor.tabTo('#model');
  await page.keyboard.type('a model & its <agent>');
  await visitor.tabTo('#client_class');
  await page.keyboard.press('Space');
  await visitor.tabTo('#human_approved');
  await page.keyboard.press('Space');
  await press(visitor, 'form[data-begin] button[type=submit]');
}

export async function beginRotate(visitor: Visitor, market: BrowserMarket, { key }: OpenedStore): Promise<void> {
  await visitor.page.goto(`${market.url}/rotate`);
  await visitor.tabTo('#merchant_key');
  await visitor.page.keyboard.insertText(key);
  await press(visitor, 'form[data-begin] button[type=submit]');
}

export async function beginRecover(visitor: Visitor, market: BrowserMarket, code: string): Promise<void> {
  await visitor.page.goto(`${market.url}/recovery`);
  await visitor.tabTo('#recovery_code');
  await visitor.page.keyboard.type(code);
  await press(visitor, 'form[data-begin] button[type=submit]');
}

export const CONFIRM = 'form[data-typed-back] button[type=submit]';

/** Confirms. The button must be disabled until everything is typed back, and then work. */
export async function confirm(visitor: Visitor, shown: { key: string; codes: string[] }): Promise<void> {
  const button = visitor.page.locator(CONFIRM);
  expect(await button.isDisabled()).toBe(true);
  await typeBack(visitor, shown);
  expect(await button.isEnabled()).toBe(true);
  await press(visitor, CONFIRM);
}

export async function meOf(market: BrowserMarket, key: string): Promise<number> {
  return (await market.ask('/api/me', undefined, key)).status;
}

/** Joins without the keyboard, for tests of other things. */
export async function quickJoin({ page }: Visitor, market: BrowserMarket, handle: string): Promise<void> {
  await page.goto(`${market.url}/join`);
  await fillJoin({ page }, handle);
  await send({ page }, 'form[data-begin] button[type=submit]');
}

export async function fillJoin({ page }: Pick<Visitor, 'page'>, handle: string): Promise<void> {
  await page.fill('#handle', handle);
  await page.fill('#model', 'a model');
  await page.check('#client_class');
  await page.check('#human_approved');
}

export async function quickRecover({ page }: Visitor, market: BrowserMarket, code: string): Promise<void> {
  await page.goto(`${market.url}/recovery`);
  await page.fill('#recovery_code', code);
  await send({ page }, 'form[data-begin] button[type=submit]');
}

export async function fillBack({ page }: Visitor, { key, codes }: { key: string; codes: string[] }): Promise<void> {
  await page.fill('#merchant_key', key);
  for (const field of codes.length === 0 ? [] : ['code_first', 'code_second']) {
    const number = Number((await page.locator(`label[for=${field}]`).innerText()).slice(-1));
    await page.fill(`#${field}`, codes[number - 1] ?? '');
  }
}

export async function send({ page }: Pick<Visitor, 'page'>, button: string): Promise<void> {
  await Promise.all([page.waitForEvent('load'), page.click(button)]);
}

export const CANCEL = 'form:has(input[value=cancel]) button';

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { findStored } from '../../src/market/goods/object-store.ts';
import { seedListing } from '../support/seed.ts';
import { seedUpload } from '../support/seed-upload.ts';
import { fileOf } from '../world/download-stage.ts';
import { beyondRefusals, SELLER, walletStage } from './wallet-stage.ts';

// Goods that are a file are streamed to the disk where the browser can do that, and collected in memory elsewhere.

const stage = await walletStage();
const { shopper, browser } = stage;

const SIZE = 700_000;

async function fileGoods(price: bigint) {
  const { world, seller } = stage;
  const bytes = fileOf(`page ${price}`, SIZE);
  const { objectId } = await seedUpload(world.running.market, seller.id, { bytes });
  const stored = await findStored(world.db.database, objectId);
  if (stored === null) throw new Error('the seeded upload is not whole');
  const title = `Scans of invoices at ${price}`;
  const listed = { title, priceUnits: price, wallet: SELLER, stored, filename: 'scans.bin' };
  const { id } = await seedListing(world.db.database, seller.id, listed);
  await world.running.eventsSettled();
  return { id, title, artifact: '', price, bytes };
}

const matches = (page: Page) => page.locator('#matches', { hasText: /^matches$/ }).waitFor();
const digestOf = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

/** Stands in for the dialog, which no program can answer. The bytes go to a file of the browser's own storage. */
const DIALOG = `globalThis.showSaveFilePicker = async ({ suggestedName }) => {
  const folder = await navigator.storage.getDirectory();
  return folder.getFileHandle(suggestedName, { create: true });
};`;
const NO_DIALOG = 'delete globalThis.showSaveFilePicker;';

/** Returns the SHA-256 of what the page wrote to disk. */
function digestOnDisk(page: Page): Promise<string> {
  return page.evaluate<string>(`(async () => {
    const folder = await navigator.storage.getDirectory();
    const file = await (await folder.getFileHandle('scans.bin')).getFile();
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', await file.arrayBuffer()));
    return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('');
  })()`);
}

it('a free file is collected in memory and saved, also if the connection broke once', async () => {
  const { id, bytes } = await fileGoods(0n);
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.addInitScript(NO_DIALOG);
  await page.goto(`${stage.world.url}/listing/${id}/buy`);
  await page.click('#get');
  await page.locator('#file', { hasText: '700,000 bytes' }).waitFor();
  expect(await page.locator('#file').innerText()).toContain(digestOf(bytes));
  expect(await page.locator('#matches').innerText()).toBe('checked while the file is saved');
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('wallet-file');
  await page.route('**/api/download/*', (route) => route.abort('connectionreset'), { times: 1 });
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.locator('#saving', { hasText: 'It is tried again by itself.' }).waitFor(),
    page.click('#save'),
  ]);
  await matches(page);
  expect(download.suggestedFilename()).toBe('scans.bin');
  expect(digestOf(readFileSync(await download.path()))).toBe(digestOf(bytes));
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('wallet-file-saved');
  expect(visitor.complaints.filter((one) => !one.includes('ERR_CONNECTION_RESET'))).toEqual([]);
  await visitor.close();
});

it('a bought file is streamed to the disk; when the permission ends it is collected again without paying', async () => {
  const listed = await fileGoods(3_000_000n);
  const person = await shopper();
  const { page, wallet } = person;
  await page.addInitScript(DIALOG);
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  await person.toSettled(listed);
  await stage.world.finalize();
  await page.click('#save');
  await matches(page);
  expect(await page.locator('#saving').innerText()).toBe('The file is saved.');
  expect(await digestOnDisk(page)).toBe(digestOf(listed.bytes));

  await page.evaluate(`(() => {
    const name = 'openaisle:purchase:${listed.id}';
    localStorage[name] = JSON.stringify({ ...JSON.parse(localStorage[name]), token: null });
  })()`);
  await page.reload();
  await page.click('#collect');
  await page.click('#wallet-0');
  await page.click('#sign');
  await page.locator('#save').waitFor();
  await stage.world.db.database.run(sql`delete from download_tokens where listing_id = ${listed.id}`);
  await page.click('#save');
  await page.locator('#saving', { hasText: 'nothing is paid' }).waitFor();
  expect(await person.visitor.findings()).toEqual([]);
  await person.visitor.shoot('wallet-file-ended');
  await page.click('#again');
  // The wallet is still connected.
  await page.click('#collect');
  await page.click('#sign');
  await page.click('#save');
  await matches(page);
  expect(wallet.signed.map(({ message }) => message['value'])).toEqual(['3000000', '0', '0']);
  expect(await person.paid()).toEqual([listed.price]);
  expect(addresses.filter((address) => /token|_d[tl]_/.test(address))).toEqual([]);
  expect(beyondRefusals(person.visitor)).toEqual([]);
  await person.visitor.close();
});

it('a file that is not the promised one is called so, and kept on the disk as evidence', async () => {
  const listed = await fileGoods(5_000_000n);
  const person = await shopper();
  const { page } = person;
  await page.addInitScript(DIALOG);
  await person.toSettled(listed);
  await stage.world.finalize();
  await page.locator('#save').waitFor();
  const other = fileOf('other bytes', SIZE);
  await page.route('**/api/download/*', async (route) => {
    await route.fulfill({ response: await route.fetch(), body: other });
  });
  await page.click('#save');
  await page.locator('#matches', { hasText: 'does not match' }).waitFor();
  expect(await digestOnDisk(page)).toBe(digestOf(other));
  expect(await person.readPage()).toContain('You have paid. Do not pay again.');
  expect(await page.locator('#forget').count()).toBe(0);
  expect(await person.visitor.findings()).toEqual([]);
  await person.visitor.close();
});

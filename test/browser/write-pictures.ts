import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { findChromium } from './find-chromium.ts';

// Makes the small pictures of README and docs from the screenshots that `OPENAISLE_SHOTS=1 npm run test:browser` writes to `shots`.

/** Name in docs/pictures, screenshot, and the size of the visible part in CSS pixels. */
const PICTURES: readonly [name: string, shot: string, width: number, height: number][] = [
  ['shelves', 'shelves-1440-light', 720, 450],
  ['listing', 'listing-820-light', 480, 560],
  ['confirm', 'wallet-confirm-390-light', 280, 560],
  ['waiting', 'wallet-settled-820-light', 480, 360],
  ['window', 'window-820-dark', 480, 560],
  ['treasury', 'treasury-many-820-light', 480, 560],
];
const QUALITY = 78;
const folder = join(import.meta.dirname, '../../docs/pictures');

const browser = await chromium.launch({ executablePath: findChromium(), args: ['--headless', '--no-sandbox'] });
const context = await browser.newContext({ deviceScaleFactor: 1.5 });
for (const [name, shot, width, height] of PICTURES) {
  const page = await context.newPage();
  await page.setViewportSize({ width, height });
  const image = readFileSync(join(import.meta.dirname, 'shots', `${shot}.jpg`)).toString('base64');
  await page.setContent(`<body style="margin:0"><img style="width:${width}px" src="data:image/jpeg;base64,${image}">`);
  await page.locator('img').evaluate((image) => (image as unknown as { decode(): Promise<void> }).decode());
  const jpeg = await page.screenshot({ type: 'jpeg', quality: QUALITY });
  writeFileSync(join(folder, `${name}.jpg`), jpeg);
  process.stdout.write(`docs/pictures/${name}.jpg  ${Math.round(jpeg.byteLength / 1024)} KB\n`);
  await page.close();
}
await browser.close();

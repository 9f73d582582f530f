import { expect, it } from 'vitest';
import { testBrowser } from './browser.ts';
import { pagesOf, REFUSED_PAGES, storefrontGround } from './storefront-ground.ts';

const browser = testBrowser();
const ground = storefrontGround();

it('every page can be read at every width, light and dark, and axe finds nothing', async () => {
  const visitor = await browser.visitor();
  const failed: string[] = [];
  for (const [path, name] of [...pagesOf(ground.ids), ...REFUSED_PAGES]) {
    await visitor.page.goto(`${ground.url}${path}`);
    failed.push(...(await visitor.allFindings()).map((finding) => `${path} ${finding}`));
    await visitor.shoot(name);
  }
  expect(failed).toEqual([]);
  // The browser also reports pages with an error status on the console.
  expect(visitor.complaints.filter((one) => !/the server responded with a status of 4\d\d/.test(one))).toEqual([]);
  await visitor.close();
});

it('without scripts a person finds goods by words and reads them', async () => {
  const visitor = await browser.visitor({ javaScriptEnabled: false });
  const { page } = visitor;
  await page.goto(ground.url);
  await page.fill('input[type=search]', 'index advisor');
  await page.click('form.search button');
  await page.click('.title >> nth=0');
  expect(await page.textContent('h1')).toContain('Postgres index advisor');
  expect(await page.textContent('main')).toContain('/api/buy/');
  await visitor.close();
});

it('a need with a wrong letter finds goods on a phone, says so, and can be searched exactly', async () => {
  const visitor = await browser.visitor({ viewport: { width: 390, height: 844 } });
  const { page } = visitor;
  await page.goto(`${ground.url}/shelves`);
  await page.fill('input[type=search]', 'reading of invioces');
  await page.press('input[type=search]', 'Enter');
  const said = page.locator('.searched');
  expect(await said.textContent()).toBe(
    'No listing has invioces. Showing results for reading invoices. Search exactly as typed.',
  );
  const [line, rows] = [await said.boundingBox(), await page.locator('.rows').boundingBox()];
  expect([line?.x, (line?.y ?? 0) + (line?.height ?? 0) <= (rows?.y ?? 0)]).toEqual([rows?.x, true]);
  expect(await page.textContent('.rows .title >> nth=0')).toContain('Reading of invoices');
  await said.getByRole('link').click();
  await page.waitForURL('**/shelves?q=reading+of+invioces&match=all');
  expect(await page.textContent('.empty')).toContain('Did you mean');
  await page.click('.empty a');
  await page.waitForURL('**/shelves?q=reading+invoices');
  expect(await page.locator('.searched').count()).toBe(0);
  expect(await page.textContent('.rows .title >> nth=0')).toContain('Reading of invoices');
  expect(visitor.complaints).toEqual([]);
  await visitor.close();
});

it('axe is asked for every rule, of every weight, in both colours and on both screens', async () => {
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.goto(`${ground.url}/merchants`);
  await page.evaluate(`(() => {
    document.querySelector('h1').replaceWith('Merchants');
    document.querySelector('.summary').style.color = 'light-dark(black, rgb(60, 60, 60))';
    const small = document.querySelector('.bottom ul');
    small.style.columnGap = '0';
    for (const link of small.querySelectorAll('a')) Object.assign(link.style, { minHeight: '0', minWidth: '0', fontSize: '9px', lineHeight: '9px' });
    for (const item of small.children) item.style.lineHeight = '9px';
  })()`);
  const rules = (await visitor.allFindings()).map((finding) =>
    /^\d+ \w+: ([\w-]+) \((\w+)\)/.exec(finding)?.slice(1).join(' '),
  );
  expect(rules).toEqual(
    expect.arrayContaining(['page-has-heading-one moderate', 'color-contrast serious', 'target-size serious']),
  );
  await visitor.close();
});

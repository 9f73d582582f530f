import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { HOSTILE_TEXTS } from '../support/hostile-texts.ts';
import { withdrawListing } from '../support/seed.ts';
import { beyondRefusals, type Shopper, walletStage } from './wallet-stage.ts';

// The page shows bought goods again, saves them and forgets them. Hostile goods stay plain text.

const { world, goods, shopper, browser } = await walletStage();

const GUIDE = `# Reading invoices

Find the *total* first, then **who** is paid. See https://example.org/notes and [the register](https://example.org/vat).

1. Totals
2. Dates

> Never guess a number.

| Field | Sure |
|---|---|
| total | 0.98 |
| due date | 0.91 |

\`\`\`json
{ "total": "1.284,00 EUR" }
\`\`\`
`;

const free = { price: 0n, type: 'text/markdown; charset=utf-8' };
const matches = ({ page }: Pick<Shopper, 'page'>) => page.locator('#matches', { hasText: /^matches$/ }).waitFor();

it('free goods are got without a wallet, read as Markdown, and saved byte for byte', async () => {
  const listed = await goods({ ...free, artifact: GUIDE, license: 'CC-BY-4.0' });
  const visitor = await browser.visitor();
  const { page } = visitor;
  await page.goto(`${world.url}/listing/${listed.id}`);
  await page.click('a.button >> text=Get it');
  await page.locator('#get').waitFor();
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('wallet-free');
  await visitor.tabTo('#get');
  await page.keyboard.press('Enter');
  await matches(visitor);
  expect((await page.locator('#said').innerText()).split(/\s+/)).toEqual(['License', 'CC-BY-4.0']);
  expect(await page.locator('.markdown h3').innerText()).toBe('Reading invoices');
  expect(await page.locator('.markdown a').evaluateAll((links) => links.map((link) => link.outerHTML))).toEqual([
    '<a href="https://example.org/notes" rel="nofollow ugc noopener">https://example.org/notes</a>',
    '<a href="https://example.org/vat" rel="nofollow ugc noopener">the register</a>',
  ]);
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot('wallet-free-goods');
  const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save')]);
  expect(download.suggestedFilename()).toBe(`openaisle-${listed.id}.md`);
  expect(readFileSync(await download.path(), 'utf8')).toBe(GUIDE);
  await page.reload();
  await matches(visitor);
  expect(await page.locator('.money').count()).toBe(0);
  await page.click('#forget');
  await page.locator('#get').waitFor();
  expect(await visitor.kept()).toBe('[{},{},null]');
  expect(visitor.complaints).toEqual([]);
  await visitor.close();
});

describe('hostile goods run nothing', () => {
  const point = (code: number): string => String.fromCodePoint(code);
  const payload = [
    ...HOSTILE_TEXTS,
    `seen ${point(0x202e)}unseen`,
    '[a](javascript:alert(1)) [b](data:text/html,<script>alert(1)</script>) ![c](https://evil.example/p.png)',
    '[d](https://market.example@evil.example/) <https://evil.example/auto> [e]: javascript:alert(1)',
    '<details open ontoggle=alert(1)><iframe srcdoc="<script>parent.alert(1)</script>"></iframe>',
    '<style>@import url(https://evil.example/x.css)</style><link rel=stylesheet href=//evil.example/x.css>',
  ].join('\n\n');

  it.each(['text/markdown', 'text/plain', 'text/html', 'image/svg+xml', 'application/x-shockwave-flash'])(
    'as %s, the policy bypassed',
    async (type) => {
      const listed = await goods({ price: 0n, type, artifact: payload, title: '<img src=x onerror=alert(1)> goods' });
      const visitor = await browser.visitor({ bypassCSP: true });
      const { page } = visitor;
      let dialogs = 0;
      page.on('dialog', (dialog) => {
        dialogs += 1;
        void dialog.dismiss();
      });
      const elsewhere: string[] = [];
      page.on('request', (request) => {
        if (!/^(?:blob|data):/.test(request.url()) && !request.url().startsWith(world.url))
          elsewhere.push(request.url());
      });
      await page.goto(`${world.url}/listing/${listed.id}/buy`);
      await page.click('#get');
      await matches(visitor);
      const made = page.locator('#flow :is(script, iframe, style, link, img, svg, object, embed, form, input)');
      expect(await made.count()).toBe(0);
      const handlers = `[...document.querySelectorAll('#flow *')].filter((one) => [...one.attributes].some(({ name }) => name.startsWith('on'))).length`;
      expect(await page.evaluate<number>(handlers)).toBe(0);
      const links = await page
        .locator('#flow .artifact a')
        .evaluateAll((all) => all.map((one) => one.getAttribute('href')));
      expect(links.filter((href) => !/^https?:\/\/[!-~]+$/.test(href ?? '') || href?.includes('@'))).toEqual([]);
      if (type.startsWith('text/')) {
        await page.locator('.artifact .unseen', { hasText: 'U+202E' }).first().waitFor();
        expect(await visitor.findings()).toEqual([]);
        await visitor.shoot(`wallet-hostile-${type.slice(5)}`);
      }
      expect([dialogs, elsewhere]).toEqual([0, []]);
      expect(visitor.complaints).toEqual([]);
      await visitor.close();
    },
  );
});

describe('the goods again', () => {
  it('without the token by a signature that moves no money; with another account they stay shut', async () => {
    const listed = await goods();
    const person = await shopper();
    const { page, wallet } = person;
    await person.toSettled(listed);
    await world.finalize();
    await matches(person);
    await page.evaluate(`(() => {
      const name = 'openaisle:purchase:${listed.id}';
      localStorage[name] = JSON.stringify({ ...JSON.parse(localStorage[name]), token: null });
    })()`);
    await page.reload();
    await page.locator('#stage-title', { hasText: 'Sign to read it again' }).waitFor();
    expect(await person.readPage()).toContain('it moves no money');
    expect(await person.visitor.findings()).toEqual([]);
    await person.visitor.shoot('wallet-sign-to-read');
    const { account } = wallet;
    wallet.account = (await shopper()).payer;
    await page.click('#collect');
    await page.click('#wallet-0');
    await page.locator('#stage-title', { hasText: 'The wallet shows another account' }).waitFor();
    wallet.account = account;
    await page.click('button >> text=Try again');
    await page.click('#collect');
    await page.click('#wallet-0');
    await page.locator('#stage-title', { hasText: 'Sign to show whose wallet it is' }).waitFor();
    expect(await person.readPage()).toContain('No money moves.');
    expect(await person.visitor.findings()).toEqual([]);
    await person.visitor.shoot('wallet-collect');
    await page.click('#sign');
    await matches(person);
    expect([await person.paid(), wallet.signed.length]).toEqual([[listed.price], 2]);
    expect(wallet.signed[1]?.message['value']).toBe('0');
    await person.visitor.close();
  });

  it('in another browser for the wallet that paid, also when they cannot be bought any more', async () => {
    const listed = await goods();
    const person = await shopper();
    await person.toSettled(listed);
    await world.finalize();
    await matches(person);
    await withdrawListing(world.db.database, listed.id);
    await world.running.eventsSettled();
    const later = await shopper({ account: person.payer });
    await later.page.goto(`${world.url}/listing/${listed.id}/buy`);
    await later.page.locator('[data-kind=closed]').waitFor();
    expect(await later.visitor.findings()).toEqual([]);
    await later.visitor.shoot('wallet-closed');
    await later.page.click('text=I have bought it already');
    await later.page.click('#wallet-0');
    await later.page.click('#sign');
    await matches(later);
    expect(await later.paid()).toEqual([listed.price]);
    await later.page.reload();
    await later.page.locator('#collect').waitFor();
    for (const one of [person, later]) await one.visitor.close();
  });

  it('never for a wallet that did not pay', async () => {
    const listed = await goods();
    const person = await shopper();
    await person.open(listed);
    await person.page.click('text=I have bought it already');
    await person.page.click('#wallet-0');
    await person.page.locator('#sign').waitFor();
    expect(await person.readPage()).not.toContain('are paid for');
    await person.page.click('#sign');
    await person.page.locator('.stage', { hasText: 'nothing_to_collect' }).waitFor();
    expect(person.wallet.signed.map(({ message }) => message['value'])).toEqual(['0']);
    expect(await person.readPage()).toContain('No money moved');
    expect(await person.paid()).toEqual([]);
    expect(beyondRefusals(person.visitor)).toEqual([]);
    await person.visitor.close();
  });

  it('forgetting leaves nothing in the browser', async () => {
    const listed = await goods();
    const person = await shopper();
    await person.toSettled(listed);
    await world.finalize();
    await matches(person);
    await person.page.click('#forget');
    await person.page.locator('#wallet-0').waitFor();
    expect(await person.visitor.kept()).toBe('[{},{},null]');
    await person.visitor.close();
  });
});

it('goods that are not the promised ones are called so, and kept', async () => {
  const listed = await goods();
  const person = await shopper();
  const { page } = person;
  await page.route('**/api/buy/*', async (route) => {
    const response = await route.fetch();
    if (response.status() !== 200) return await route.fulfill({ response });
    const body = (await response.json()) as Record<string, unknown>;
    await route.fulfill({ response, json: { ...body, artifact: 'something else' } });
  });
  await person.toSettled(listed);
  await world.finalize();
  await page.locator('#matches', { hasText: 'does not match' }).waitFor();
  expect(await page.locator('#promised').innerText()).not.toBe(await page.locator('#computed').innerText());
  expect(await person.readPage()).toContain('You have paid. Do not pay again.');
  expect(await person.visitor.findings()).toEqual([]);
  await person.visitor.shoot('wallet-mismatch');
  await page.unroute('**/api/buy/*');
  await page.reload();
  await matches(person);
  expect([await person.paid(), person.wallet.signed.length]).toEqual([[listed.price], 1]);
  await person.visitor.close();
});

import { createServer, type Server } from 'node:http';
import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { testBrowser, type Visitor } from './browser.ts';
import { browserMarket } from './market.ts';
import {
  CANCEL,
  CONFIRM,
  fillBack,
  fillJoin,
  heading,
  meOf,
  quickJoin,
  quickRecover,
  readShown,
  send,
} from './walk.ts';

// Each attack must have no effect, and the page must say so.

const browser = testBrowser();
const market = browserMarket();
const BEGIN = 'form[data-begin] button[type=submit]';
const MINUTE_MS = 60_000;

beforeEach(async () => {
  await market.reset();
});

async function countRows(): Promise<{ stages: number; merchants: number; tries: number }> {
  return await market.database.one(sql`
    select (select count(*)::int4 from identity_stages) as stages, (select count(*)::int4 from merchants) as merchants,
      (select coalesce(sum(used), 0)::int4 from rate_counters) as tries`);
}

function expectNone(text: string, { key, codes }: { key: string; codes: string[] }): void {
  for (const secret of [key, ...codes]) expect(text).not.toContain(secret);
}

/** Retries while the browser shows its own page that asks whether to resend a form. */
async function contentOf({ page }: Visitor): Promise<string> {
  let content: string | null = null;
  await expect
    .poll(async () => {
      content = await page.content().catch(() => null);
      return content;
    })
    .not.toBeNull();
  return content ?? '';
}

async function expectNoSecret(visitor: Visitor, shown: { key: string; codes: string[] }): Promise<void> {
  expectNone(`${await visitor.page.content()} ${await visitor.kept()}`, shown);
}

describe('from another site', () => {
  let other: Server;
  let otherUrl = '';
  let html = '';

  beforeAll(async () => {
    other = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end(html);
    });
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    // To a browser, another host name of the same machine is another site.
    otherUrl = `http://localhost:${address.port}/`;
  });
  afterAll(() => other.close());

  const formTo = (path: string, fields: Record<string, string>): string =>
    `<form method="post" action="${market.url}${path}">${Object.entries(fields)
      .map(([name, value]) => `<input name="${name}" value="${value}">`)
      .join('')}<button>go</button></form>`;

  it.each(['begin', 'confirm', 'cancel'])('a form that would %s does nothing', async (action) => {
    const visitor = await browser.visitor();
    const { page } = visitor;
    await quickJoin(visitor, market, `cross-${action}`);
    const shown = await readShown(visitor);
    // The worst case: the other site knows token and secrets.
    const token = await page.locator('form[data-typed-back] input[name=token]').inputValue();
    const mark = await page.locator('form[data-typed-back] input[name=mark]').inputValue();
    const label = async (field: string): Promise<number> =>
      Number((await page.locator(`label[for=${field}]`).innerText()).slice(-1));
    const code = async (field: string): Promise<string> => shown.codes[(await label(field)) - 1] ?? '';
    html = formTo('/join', {
      ...{ action, token, mark, merchant_key: shown.key },
      ...{ code_first: await code('code_first'), code_second: await code('code_second') },
      ...(action === 'begin'
        ? { handle: 'of-another', model: 'm', client_class: 'coding_persistent', human_approved: 'yes' }
        : {}),
    });
    const before = await countRows();
    await page.goto(otherUrl);
    await send(visitor, 'button');
    expect(await heading(visitor)).toBe('Sent from another site');
    expect(await page.content()).not.toContain('of-another');
    expect(await countRows()).toEqual(before);
    await page.goto(`${market.url}/join`);
    expect(await heading(visitor)).toBe('Shown already');
    await expectNoSecret(visitor, shown);
    await visitor.close();
  });

  it('a frame shows nothing', async () => {
    const visitor = await browser.visitor();
    const { page } = visitor;
    html = `<iframe src="${market.url}/join"></iframe>`;
    await page.goto(otherUrl);
    expect(visitor.complaints.join()).toMatch(/frame-ancestors 'none'|refused to connect|X-Frame-Options/i);
    const texts = await Promise.all(page.frames().map((frame) => frame.locator('html').innerText()));
    expect(texts.join()).not.toContain('Open a store');
    await visitor.close();
  });

  it('a form in a frame without an origin does nothing', async () => {
    const visitor = await browser.visitor();
    const { page } = visitor;
    const inner = formTo('/join', { action: 'begin', handle: 'of-none' }).replaceAll('"', '&quot;');
    html = `<iframe sandbox="allow-forms allow-top-navigation" srcdoc="${inner.replace('method', 'target=_top method')}"></iframe>`;
    await page.goto(otherUrl);
    const before = await countRows();
    await Promise.all([page.waitForURL(`${market.url}/join`), page.frameLocator('iframe').locator('button').click()]);
    expect(await heading(visitor)).toBe('Sent from another site');
    expect(await countRows()).toEqual(before);
    await visitor.close();
  });
});

describe('cookies that another site has set', () => {
  const cookie = (name: string, value: string) => ({
    // Set the cookie as if over https where its prefix requires that, because cookies ignore scheme and port.
    ...{ name, value, url: market.url.replace('http:', 'https:') },
    ...{ secure: true, httpOnly: true, sameSite: 'Strict' as const },
  });

  it('show nothing of the stage that they name, and can be canceled', async () => {
    const attacker = await browser.visitor();
    await quickJoin(attacker, market, 'fixed');
    const shown = await readShown(attacker);
    const set = await attacker.page.context().cookies();
    const victim = await browser.visitor();
    await victim.page.context().addCookies(set.map(({ name, value }) => cookie(name, value)));
    await victim.page.goto(`${market.url}/join`);
    expect(await heading(victim)).toBe('Shown already');
    await expectNoSecret(victim, shown);
    expect(await victim.page.content()).not.toContain('fixed');
    await send(victim, CANCEL);
    expect(await heading(victim)).toBe('Canceled');
    await fillJoin(victim, 'not-fixed');
    await send(victim, BEGIN);
    const own = await readShown(victim);
    expect(own.key).not.toBe(shown.key);
    await fillBack(attacker, shown);
    await send(attacker, CONFIRM);
    expect(await heading(attacker)).toBe('Canceled');
    expect(await meOf(market, shown.key)).toBe(401);
    await attacker.close();
    await victim.close();
  });

  it('are as good as none when they hold something else', async () => {
    const visitor = await browser.visitor();
    const { page } = visitor;
    await page
      .context()
      .addCookies([
        cookie('__Host-openaisle-stage', `register.${'a'.repeat(43)}.${'b'.repeat(43)}`),
        cookie('__Host-openaisle-form', 'x'),
      ]);
    await page.goto(`${market.url}/join`);
    expect(await heading(visitor)).toBe('Open a store');
    await fillJoin(visitor, 'from-nothing');
    await send(visitor, BEGIN);
    expect(await heading(visitor)).toBe('Save this now');
    expect(visitor.complaints).toEqual([]);
    await visitor.close();
  });

  it('must be there: a form without its cookie does nothing', async () => {
    const visitor = await browser.visitor();
    const { page } = visitor;
    await page.goto(`${market.url}/join`);
    await fillJoin(visitor, 'no-cookie');
    await page.context().clearCookies();
    const before = await countRows();
    await send(visitor, BEGIN);
    expect(await heading(visitor)).toBe('This form was out of date');
    expect(await countRows()).toEqual(before);
    await page.check('#human_approved');
    await send(visitor, BEGIN);
    expect(await heading(visitor)).toBe('Save this now');
    await visitor.close();
  });
});

describe('never a second showing', () => {
  // Without a script, a reload resends the first form. With the script, it only reads.
  it.each([true, false])('after a reload or by the back button, with script: %s', async (javaScriptEnabled) => {
    const visitor = await browser.visitor({ javaScriptEnabled });
    const { page } = visitor;
    const goBack = async (): Promise<void> => {
      // Without a script, Chromium first asks whether to resend the form and shows no page until then.
      const back = page.goBack();
      if (javaScriptEnabled) await back;
      else await expect(back).rejects.toThrow('ERR_CACHE_MISS');
    };
    await quickJoin(visitor, market, `once-only-${javaScriptEnabled}`);
    const shown = await readShown(visitor);
    const before = await countRows();
    await page.reload();
    expect(await heading(visitor)).toBe('Shown already');
    expectNone(await page.content(), shown);
    await page.goto(`${market.url}/`);
    await goBack();
    expectNone(await contentOf(visitor), shown);
    await page.goto(`${market.url}/join`);
    expect(await heading(visitor)).toBe('Shown already');
    expect(await countRows()).toEqual(before);
    await fillBack(visitor, shown);
    await send(visitor, CONFIRM);
    expect(await heading(visitor)).toBe('Your store is open');
    await page.reload();
    expect(await heading(visitor)).toBe('Confirmed already');
    await page.goto(`${market.url}/`);
    await goBack();
    expectNone(await contentOf(visitor), shown);
    expect((await countRows()).merchants).toBe(before.merchants + 1);
    await visitor.close();
  });

  it('in a second tab', async () => {
    const visitor = await browser.visitor();
    await visitor.page.goto(`${market.url}/join`);
    await fillJoin(visitor, 'two-tabs');
    const second = await visitor.tab();
    await second.page.goto(`${market.url}/join`);
    await fillJoin(second, 'two-tabs');
    await send(visitor, BEGIN);
    const shown = await readShown(visitor);
    const before = await countRows();
    await send(second, BEGIN);
    expect(await heading(second)).toBe('Shown already');
    await expectNoSecret(second, shown);
    expect(await countRows()).toEqual(before);
    await visitor.close();
  });
});

describe('confirming', () => {
  it('in two tabs works once, and the other one says that it is done', async () => {
    const visitor = await browser.visitor();
    await quickJoin(visitor, market, 'confirm-twice');
    const shown = await readShown(visitor);
    const second = await visitor.tab();
    await second.page.goto(`${market.url}/join`);
    await fillBack(visitor, shown);
    await fillBack(second, shown);
    await Promise.all([send(visitor, CONFIRM), send(second, CONFIRM)]);
    const heard = [await heading(visitor), await heading(second)].sort();
    expect(heard).toEqual(['Confirmed already', 'Your store is open']);
    expect(await meOf(market, shown.key)).toBe(200);
    await visitor.close();
  });

  it('of a stage whose time is over does nothing', async () => {
    const visitor = await browser.visitor();
    await quickJoin(visitor, market, 'too-late');
    const shown = await readShown(visitor);
    await fillBack(visitor, shown);
    market.clock.set(market.clock.now() + 15 * MINUTE_MS);
    await send(visitor, CONFIRM);
    expect(await heading(visitor)).toBe('Out of time');
    expect(await meOf(market, shown.key)).toBe(401);
    await visitor.close();
  });

  it('from the page of an earlier stage does nothing, and says why', async () => {
    const visitor = await browser.visitor();
    await quickJoin(visitor, market, 'earlier');
    const shown = await readShown(visitor);
    await fillBack(visitor, shown);
    const second = await visitor.tab();
    await second.page.goto(`${market.url}/join`);
    await send(second, CANCEL);
    await fillJoin(second, 'later-one');
    await send(second, BEGIN);
    await send(visitor, CONFIRM);
    expect(await visitor.page.locator('#faults').innerText()).toContain('an earlier beginning');
    await fillBack(second, await readShown(second));
    await send(second, CONFIRM);
    expect(await heading(second)).toBe('Your store is open');
    await visitor.close();
  });

  it('counts every wrong try, with those of the API', async () => {
    const visitor = await browser.visitor();
    await quickJoin(visitor, market, 'wrong-often');
    const shown = await readShown(visitor);
    market.limit('confirm_per_ip_hour', 2);
    await visitor.page.goto(`${market.url}/join`);
    for (const expected of ['This is not the key that was shown.', 'This is not the key that was shown.', 'Wait']) {
      await fillBack(visitor, { ...shown, key: 'wrong' });
      await send(visitor, CONFIRM);
      expect(await visitor.page.locator('#faults').innerText()).toContain(expected);
    }
    await fillBack(visitor, shown);
    await send(visitor, CONFIRM);
    expect(await visitor.page.locator('#faults').innerText()).toContain('Wait');
    const refused = await market.ask('/api/register', { action: 'confirm', session: 's', csrf: 's' }, shown.key);
    expect(refused.body['reason']).toBe('rate_limited');
    market.limit('confirm_per_ip_hour', 100);
    await fillBack(visitor, shown);
    await send(visitor, CONFIRM);
    expect(await heading(visitor)).toBe('Your store is open');
    await visitor.close();
  });
});

describe('without script', () => {
  it('the whole way works: what is typed back is judged by the server', async () => {
    const visitor = await browser.visitor({ javaScriptEnabled: false });
    const store = await market.openStore('no-script');
    await quickRecover(visitor, market, store.codes[0] ?? '');
    const shown = await readShown(visitor);
    expect(await visitor.page.locator('button[data-copy]').first().isVisible()).toBe(false);
    await send(visitor, CONFIRM);
    expect(await visitor.page.locator('#faults li').allInnerTexts()).toHaveLength(3);
    expectNone(await visitor.page.content(), shown);
    await fillBack(visitor, { ...shown, codes: [...shown.codes].reverse() });
    await send(visitor, CONFIRM);
    expect(await visitor.page.locator('#faults').innerText()).toContain('This is not code');
    expect(await visitor.page.inputValue('#merchant_key')).toBe('');
    await fillBack(visitor, shown);
    await send(visitor, CONFIRM);
    expect(await heading(visitor)).toBe('The store is yours again');
    expect([await meOf(market, store.key), await meOf(market, shown.key)]).toEqual([401, 200]);
    await visitor.close();
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { usdcAdmin } from '../support/chain.ts';
import { removeListing } from '../support/seed.ts';
import { beyondRefusals, richAccount, type Shopper, walletStage } from './wallet-stage.ts';

// Covers everything that can fail while a person buys with a wallet. The page must explain it, and no buyer pays twice or gets nothing for
// a payment.

/** Offset of the market's and the chain's time from real time. It only grows. */
let offsetMs = 0;
const clock = { now: () => systemClock.now() + offsetMs, sleep: systemClock.sleep };
const { world, goods, shopper, browser, facilitator, forward } = await walletStage({ clock });

let people: Shopper[] = [];
afterEach(async () => {
  for (const { visitor } of people) await visitor.close();
  people = [];
});

/** Opens a visitor without the storage of earlier tests, at the market's time. */
async function visit(): Promise<Shopper> {
  const person = await shopper();
  people.push(person);
  if (offsetMs > 0) await person.page.context().addInitScript(movedTime(offsetMs));
  return person;
}

const movedTime = (ms: number): string => `{ const now = Date.now; Date.now = () => now() + ${ms}; }`;

async function moveTime(seconds: number): Promise<void> {
  offsetMs += seconds * 1_000;
  await world.chain.rpc.call('evm_increaseTime', [seconds]);
  await world.chain.mine(1);
}

/** Expects this message on the page, the statement about the money, and a page without visual faults. */
async function expectTrouble(person: Shopper, title: string | RegExp, money: string, shot: string): Promise<void> {
  const { page, visitor } = person;
  await page.locator('#stage-title', { hasText: title }).waitFor();
  expect(await page.locator('.moved').innerText()).toContain(money);
  expect(await page.evaluate<string>('document.activeElement.id')).toBe('stage-title');
  expect(await visitor.findings()).toEqual([]);
  await visitor.shoot(`wallet-${shot}`);
}

async function expectNothingPaid(person: Shopper): Promise<void> {
  expect(await person.paid()).toEqual([]);
  expect(beyondRefusals(person.visitor)).toEqual([]);
}

async function expectBought(person: Shopper, price: bigint, signatures: number): Promise<void> {
  await person.page.locator('.money.paid').waitFor();
  await world.finalize();
  await person.page.locator('#matches').waitFor();
  expect([await person.paid(), person.wallet.signed.length]).toEqual([[price], signatures]);
}

const NOTHING = 'No money moved';
const UNKNOWN = 'A payment may exist. Do not pay again.';

describe('the wallet', () => {
  it('says no to the account, then to the signature, then yes', async () => {
    const listed = await goods();
    const person = await visit();
    const { page, wallet } = person;
    wallet.refuses.add('eth_requestAccounts');
    await person.open(listed);
    await page.click('#wallet-0');
    await expectTrouble(person, 'You said no in the wallet', NOTHING, 'refused');
    wallet.refuses.clear();
    wallet.refuses.add('eth_signTypedData_v4');
    await page.click('button >> text=Try again');
    await page.click('#wallet-0');
    await page.click('#sign');
    await page.locator('#stage-title', { hasText: 'You said no in the wallet' }).waitFor();
    expect(await person.visitor.kept()).toBe('[{},{},null]');
    await expectNothingPaid(person);
    wallet.refuses.clear();
    await page.click('button >> text=Try again');
    await page.click('#wallet-0');
    await page.click('#sign');
    await expectBought(person, listed.price, 1);
  });

  it('is never asked where the person stops', async () => {
    const person = await visit();
    await person.toMessage(await goods());
    await person.page.click('#stop');
    await person.page.locator('#stage-title', { hasText: 'You stopped' }).waitFor();
    expect(person.wallet.asked).not.toContain('eth_signTypedData_v4');
    await expectNothingPaid(person);
  });

  it('on another network is asked to change, and told of where it cannot', async () => {
    const listed = await goods();
    const person = await visit();
    const { page, wallet } = person;
    Object.assign(wallet, { chainId: '0x1', changesNetwork: false });
    await person.open(listed);
    await page.click('#wallet-0');
    await expectTrouble(person, 'The wallet is on another network', NOTHING, 'wrong-network');
    wallet.changesNetwork = true;
    await page.click('button >> text=Try again');
    await page.click('#wallet-0');
    await page.click('#sign');
    expect(wallet.chainId).toBe('0x2105');
    await expectBought(person, listed.price, 1);
  });

  it('that changes its account while the message is read signs nothing', async () => {
    const person = await visit();
    await person.toMessage(await goods());
    await person.wallet.choose(person.page, await richAccount(world));
    await person.page.locator('#stage-title', { hasText: 'The wallet changed its account' }).waitFor();
    expect(person.wallet.signed).toEqual([]);
    await expectNothingPaid(person);
  });

  it('is looked for; where there is none the page says what to do, and takes an old one', async () => {
    const listed = await goods();
    const visitor = await browser.visitor();
    const { page } = visitor;
    await page.goto(`${world.url}/listing/${listed.id}/buy`);
    await page.locator('.stage', { hasText: 'None has announced itself' }).waitFor();
    expect(await visitor.findings()).toEqual([]);
    await visitor.shoot('wallet-none');
    await page.addInitScript('window.ethereum = { request: async () => [] }');
    await page.reload();
    await page.locator('#wallet-0', { hasText: 'Wallet of this browser' }).waitFor();
    await visitor.close();
  });
});

describe('the browser', () => {
  it.each([
    ['storage', `Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no'); } })`],
    ['locks', `Object.defineProperty(Navigator.prototype, 'locks', { value: undefined })`],
    ['security', `Object.defineProperty(window, 'isSecureContext', { value: false })`],
  ])('without %s buys nothing, and says so', async (name, script) => {
    const listed = await goods();
    const person = await visit();
    await person.page.context().addInitScript(script);
    await person.page.goto(`${world.url}/listing/${listed.id}/buy`);
    await person.page.locator('#stage-title', { hasText: 'Buying here would not be safe' }).waitFor();
    expect(await person.page.locator('#flow button').count()).toBe(0);
    expect(person.wallet.asked).toEqual([]);
    expect(await person.visitor.findings()).toEqual([]);
    await person.visitor.shoot(`wallet-unsafe-${name}`);
  });

  it('that holds something unreadable about a payment signs nothing else', async () => {
    const listed = await goods();
    const person = await visit();
    await person.page.context().addInitScript(`localStorage['openaisle:proof:${listed.id}'] = '{'`);
    await person.page.goto(`${world.url}/listing/${listed.id}/buy`);
    await person.page.locator('#stage-title', { hasText: 'cannot be read' }).waitFor();
    expect(await person.page.locator('#flow button').count()).toBe(0);
    expect(await person.readPage()).toContain(UNKNOWN);
    expect(await person.visitor.findings()).toEqual([]);
    await person.visitor.shoot('wallet-unreadable');
  });

  it('without scripts names the other ways', async () => {
    const listed = await goods();
    const visitor = await browser.visitor({ javaScriptEnabled: false });
    await visitor.page.goto(`${world.url}/listing/${listed.id}/buy`);
    expect(await visitor.page.locator('noscript').innerText()).toContain('This page needs its script');
    // Axe cannot run here, because scripts are disabled.
    await visitor.shoot('wallet-no-script');
    await visitor.page.click('noscript a');
    expect(await visitor.page.locator('#how').innerText()).toBe('How to buy');
    await visitor.close();
  });

  it('that loses the network goes on with the same payment when it is back', async () => {
    const listed = await goods();
    const person = await visit();
    const { page } = person;
    await person.toSettled(listed);
    await page.context().setOffline(true);
    await page.locator('.stage', { hasText: 'No answer from the market since' }).waitFor();
    expect(await person.readPage()).toContain('You have paid. Do not pay again.');
    expect(await person.visitor.findings()).toEqual([]);
    await person.visitor.shoot('wallet-offline');
    await page.context().setOffline(false);
    await expectBought(person, listed.price, 1);
    expect(await person.readPage()).not.toContain('No answer');
  });
});

describe('the market', () => {
  it.each(['payTo', 'amount'] as const)(
    'that asks for another %s than the page shows gets no signature',
    async (field) => {
      const listed = await goods();
      const person = await visit();
      const { page } = person;
      const stranger = WORLD_ACCOUNTS.stranger.address;
      await page.route(`**/api/listing/${listed.id}?*`, async (route) => {
        const response = await route.fetch();
        const body = await response.json();
        if (field === 'payTo') body.listing.seller_wallet = stranger;
        else body.listing.price_usdc = 3;
        await route.fulfill({ response, json: body });
      });
      await page.route(`**/api/buy/${listed.id}`, async (route) => {
        const response = await route.fetch();
        const headers = response.headers();
        const terms = JSON.parse(Buffer.from(headers['payment-required'] ?? '', 'base64').toString('utf8'));
        terms.accepts[0][field] = field === 'payTo' ? stranger : '3000000';
        const changed = Buffer.from(JSON.stringify(terms)).toString('base64');
        await route.fulfill({ response, headers: { ...headers, 'payment-required': changed } });
      });
      await person.open(listed);
      await page.click('#wallet-0');
      await expectTrouble(person, 'Not what this page shows', NOTHING, 'not-as-shown');
      expect(person.wallet.asked).not.toContain('eth_signTypedData_v4');
      await expectNothingPaid(person);
    },
  );

  it('that has removed the listing meanwhile asks for nothing', async () => {
    const listed = await goods();
    const person = await visit();
    await person.open(listed);
    await removeListing(world.db.database, listed.id);
    await world.running.eventsSettled();
    await person.page.click('#wallet-0');
    await expectTrouble(person, 'not for sale', NOTHING, 'removed');
    await expectNothingPaid(person);
  });

  it('that removes it after the signature takes nothing', async () => {
    const listed = await goods();
    const person = await visit();
    person.wallet.beforeSigning = async () => {
      await removeListing(world.db.database, listed.id);
      await world.running.eventsSettled();
    };
    await person.toMessage(listed);
    await person.page.click('#sign');
    await expectTrouble(person, 'not for sale', NOTHING, 'removed-after');
    expect(await person.page.locator('button', { hasText: 'Pay again' }).count()).toBe(0);
    await expectNothingPaid(person);
  });

  it('says when the wallet of the seller is blocked', async () => {
    const { sellerTwo } = WORLD_ACCOUNTS;
    const listed = await goods({ payTo: sellerTwo.address });
    await usdcAdmin(world.chain).blacklist(sellerTwo.address);
    const person = await visit();
    await person.open(listed);
    await person.page.click('#wallet-0');
    await expectTrouble(person, 'The payee cannot receive USDC', NOTHING, 'blocked');
    await usdcAdmin(world.chain).unBlacklist(sellerTwo.address);
    await expectNothingPaid(person);
  });

  it('refuses a wallet that has too little, and once it is funded the same signature serves', async () => {
    const listed = await goods({ price: 500_000_000n });
    const person = await visit();
    await person.toMessage(listed);
    await person.page.click('#sign');
    await person.page.locator('.moved').waitFor();
    expect(await person.readPage()).not.toContain('You have paid');
    expect(await person.page.locator('button:enabled', { hasText: 'Pay again' }).count()).toBe(0);
    expect(await person.visitor.findings()).toEqual([]);
    await person.visitor.shoot('wallet-too-little');
    expect(await person.readPage()).toContain('No money moved: the wallet holds less than the price.');
    expect(await person.paid()).toEqual([]);
    await fund(world.chain, [{ address: person.payer.address, usdcUnits: listed.price }]);
    await person.page.click('button >> text=Try again');
    await expectBought(person, listed.price, 1);
  });

  it('is not asked where the wallet itself says that it holds too little: nothing is signed', async () => {
    const listed = await goods({ price: 500_000_000n });
    const person = await visit();
    person.wallet.balance = 100_000_000n;
    await person.open(listed);
    await person.page.click('#wallet-0');
    await expectTrouble(person, 'Too little USDC', NOTHING, 'little-before');
    expect(await person.readPage()).toContain('holds 100.00 USDC, and the price is 500.00 USDC');
    expect(person.wallet.signed).toEqual([]);
    await expectNothingPaid(person);
  });
});

describe('an undecided payment', () => {
  it('that a facilitator refused goes on with the same signature, and its transaction can be looked up', async () => {
    const listed = await goods();
    const person = await visit();
    const { page } = person;
    await page.route('**/listing/*/buy', async (route) => {
      const response = await route.fetch();
      const named = /(explorer_url(?:"|&quot;|&#34;):)null/;
      const text = (await response.text()).replace(named, '$1&quot;https://explorer.example&quot;');
      await route.fulfill({ response, body: text });
    });
    facilitator.script({ verify: 'invalid', settle: 'garbage' });
    await person.toMessage(listed);
    // Read each body at once, because the browser does not keep a body that a script streamed.
    const refusals: Record<string, unknown>[] = [];
    await page.route('**/api/buy/*', async (route) => {
      const response = await route.fetch();
      if (response.status() === 503) refusals.push(await response.json());
      await route.fulfill({ response });
    });
    await page.click('#sign');
    await expect.poll(() => refusals.length).toBeGreaterThan(0);
    expect(refusals[0]).toMatchObject({ reason: 'facilitator_refused', do_not_pay_again: true });
    await page.locator('.money', { hasText: 'You have signed.' }).waitFor();
    expect(await page.locator('#flow button').count()).toBe(0);
    forward();
    await page.locator('.money.paid').waitFor();
    const hash = await page.locator('.transfer code').innerText();
    expect(await page.locator('.transfer a').getAttribute('href')).toBe(`https://explorer.example/tx/${hash}`);
    await expectBought(person, listed.price, 1);
  });

  it('is never offered to be paid again; after its end, by the word of the market, it is, once', async () => {
    const listed = await goods();
    const person = await visit();
    const { page } = person;
    facilitator.script({ verify: 'valid', settle: 'garbage' });
    await person.toMessage(listed);
    await page.click('#sign');
    await page.locator('.money', { hasText: 'You have signed.' }).waitFor();
    await page.reload();
    await page.locator('[data-kind=progress]').waitFor();
    expect(await page.locator('#flow button').count()).toBe(0);
    await page.goto('about:blank');
    await moveTime(130);
    await world.finalize();
    await world.running.payments.reconcileOnce();
    await page.context().addInitScript(movedTime(offsetMs));
    forward();
    await page.goto(`${world.url}/listing/${listed.id}/buy`);
    await expectTrouble(
      person,
      'That authorization can no longer be used',
      'No money moved, and none can any more.',
      'ended',
    );
    await page.click('button >> text=Pay again');
    await page.click('#wallet-0');
    await page.locator('#sign').waitFor();
    expect(await page.locator('.money').count()).toBe(0);
    expect(await page.locator('.steps .now').innerText()).toContain('Signed');
    await page.click('#sign');
    await expectBought(person, listed.price, 2);
  });

  it('that goes to review says so, and asks for no second one', async () => {
    const listed = await goods();
    const person = await visit();
    const { page } = person;
    // Remove the listing while the transfer is pending.
    facilitator.before('settle', () => removeListing(world.db.database, listed.id));
    await person.toSettled(listed);
    await world.finalize();
    await expectTrouble(person, 'the seller must decide about it', 'Do not pay again.', 'review');
    expect(await page.locator('#flow button').allInnerTexts()).toEqual(['Look again']);
    expect(person.wallet.signed).toHaveLength(1);
  });
});

describe('what a wallet cannot buy here', () => {
  it('is told with the way that works', async () => {
    const small = await goods({ price: 500n });
    const visitor = await browser.visitor();
    await visitor.page.goto(`${world.url}/listing/${small.id}`);
    expect(await visitor.page.locator(`a[href="/listing/${small.id}/buy"]`).count()).toBe(0);
    await visitor.page.goto(`${world.url}/listing/${small.id}/buy`);
    expect(await visitor.page.locator('main').innerText()).toContain('Too small for this way of paying');
    expect(await visitor.findings()).toEqual([]);
    await visitor.shoot('wallet-too-small');
    await visitor.page.goto(`${world.url}/listing/999999/buy`);
    expect(await visitor.page.locator('h1').innerText()).not.toContain('Buy');
    await visitor.close();
  });
});

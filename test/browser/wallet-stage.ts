import type { BrowserContextOptions, Page } from 'playwright-core';
import sql from 'sql-template-tag';
import { beforeEach } from 'vitest';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { freePort } from '../support/free-port.ts';
import { paidUnits, type World, type WorldOptions } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { scriptedTrade } from '../support/trade.ts';
import { testBrowser, type Visitor } from './browser.ts';

const ICON =
  'data:image/svg+xml,%3Csvg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"%3E%3Crect width="8" height="8" fill="teal"/%3E%3C/svg%3E';

/** Acts like a browser extension wallet: it has a key, shows an account, and signs if its owner agrees. */
export interface TestWallet {
  account: TestAccount;
  signed: TypedData[];
  /** RPC methods that the page called. */
  asked: string[];
  chainId: string;
  changesNetwork: boolean;
  /** Balance that the wallet reports. Null if it does not answer. */
  balance: bigint | null;
  /** RPC methods that the owner refuses from now on. */
  refuses: Set<string>;
  beforeSigning: (() => Promise<void>) | null;
  choose(page: Page, account: TestAccount): Promise<void>;
}

export interface TypedData {
  domain: Record<string, unknown>;
  primaryType: string;
  message: Record<string, string>;
}

const PROVIDER = (name: string): string => `(() => {
  const listeners = { accountsChanged: [] };
  const provider = {
    request: async (asked) => {
      const { said, error } = JSON.parse(await window.testWallet(JSON.stringify(asked)));
      if (error) throw Object.assign(new Error(error.message), { code: error.code });
      return said;
    },
    on: (event, listener) => void listeners[event]?.push(listener),
    removeListener: (event, listener) => { listeners[event] = (listeners[event] ?? []).filter((one) => one !== listener); },
  };
  window.testAccounts = (accounts) => listeners.accountsChanged.forEach((listener) => listener(accounts));
  const info = { uuid: '350670db-19fa-4704-a166-e52e178b59d2', name: ${JSON.stringify(name)}, icon: ${JSON.stringify(ICON)}, rdns: 'example.wallet' };
  const announce = () => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }));
  window.addEventListener('eip6963:requestProvider', announce);
  announce();
})()`;

class Refused extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Installs a wallet in every tab of a visitor. */
export async function installWallet(
  { page }: Visitor,
  account: TestAccount,
  name = 'Wallet for tests',
): Promise<TestWallet> {
  const wallet: TestWallet = {
    ...{ account, signed: [], asked: [], chainId: '0x2105', changesNetwork: true },
    ...{ balance: null, refuses: new Set<string>(), beforeSigning: null },
    choose: async (shown, next) => {
      wallet.account = next;
      await shown.evaluate(`window.testAccounts(${JSON.stringify([next.address])})`);
    },
  };
  const context = page.context();
  await context.exposeFunction('testWallet', async (text: string): Promise<string> => {
    try {
      const { method, params = [] } = JSON.parse(text) as { method: string; params?: unknown[] };
      return JSON.stringify({ said: (await answer(wallet, method, params)) ?? null });
    } catch (error) {
      const code = error instanceof Refused ? error.code : -32_603;
      return JSON.stringify({ error: { code, message: String(error) } });
    }
  });
  await context.addInitScript(PROVIDER(name));
  return wallet;
}

async function answer(wallet: TestWallet, method: string, params: readonly unknown[]): Promise<unknown> {
  wallet.asked.push(method);
  if (wallet.refuses.has(method)) throw new Refused(4001, 'User rejected the request.');
  switch (method) {
    case 'eth_requestAccounts':
    case 'eth_accounts':
      return [wallet.account.signer.address];
    case 'eth_chainId':
      return wallet.chainId;
    case 'wallet_switchEthereumChain':
      if (!wallet.changesNetwork) throw new Refused(4902, 'Unrecognized chain ID.');
      wallet.chainId = (params[0] as { chainId: string }).chainId;
      return null;
    case 'eth_call':
      if (wallet.balance === null) throw new Refused(4200, 'not supported');
      return `0x${wallet.balance.toString(16).padStart(64, '0')}`;
    case 'eth_signTypedData_v4':
      return await sign(wallet, params);
    default:
      throw new Refused(4200, 'not supported');
  }
}

async function sign(wallet: TestWallet, [address, text]: readonly unknown[]): Promise<string> {
  const act = wallet.beforeSigning;
  wallet.beforeSigning = null;
  await act?.();
  const { signer } = wallet.account;
  if (String(address).toLowerCase() !== signer.address.toLowerCase()) throw new Refused(4100, 'another account');
  const typed = JSON.parse(String(text));
  wallet.signed.push(typed);
  return await signer.signTypedData(typed);
}

let payers = 0;

/** Creates an account with 100 USDC and no gas, so that its payments can be counted. */
export async function richAccount(world: World): Promise<TestAccount> {
  payers += 1;
  const account = testAccount(`person ${payers}`);
  await fund(world.chain, [{ address: account.address, usdcUnits: 100_000_000n }]);
  return account;
}

export const SELLER = WORLD_ACCOUNTS.sellerOne.address;

export interface Goods {
  id: bigint;
  title: string;
  artifact: string;
  price: bigint;
}

export interface Shopper {
  visitor: Visitor;
  page: Page;
  wallet: TestWallet;
  payer: TestAccount;
  /** Opens the purchase page and shows the wallets. */
  open(goods: Goods): Promise<void>;
  toMessage(goods: Goods): Promise<void>;
  /** Continues until a transfer is seen. */
  toSettled(goods: Goods): Promise<void>;
  /** Returns the transfers that the wallet paid so far. */
  paid(): Promise<bigint[]>;
  /** Returns the text of the whole page. */
  readPage(): Promise<string>;
}

/** Creates one world and one browser for all tests of a file. The facilitator behaves normally until a test scripts it. */
export async function walletStage(options: Omit<WorldOptions, 'facilitatorUrl'> = {}) {
  // The page signs for its own origin, so the port must be known in advance.
  const trade = await scriptedTrade({ port: await freePort(), ...options });
  const browser = testBrowser();
  let made = 0;
  beforeEach(() => trade.forward());

  const goods = async (
    given: Partial<Pick<Goods, 'title' | 'artifact' | 'price'>> & { type?: string; payTo?: Hex; license?: string } = {},
  ) => {
    made += 1;
    const { world, seller } = trade;
    const title = given.title ?? `Reading of invoices, part ${made}`;
    const artifact = given.artifact ?? `secret goods number ${made}`;
    const price = given.price ?? 4_000_000n;
    const { database } = world.db;
    const wallet = given.payTo ?? SELLER;
    const listed = { title, artifact, priceUnits: price, wallet, ...(given.license ? { license: given.license } : {}) };
    const { id } = await seedListing(database, seller.id, listed);
    if (given.type !== undefined) {
      await database.run(sql`update listings set artifact_media_type = ${given.type} where id = ${id}`);
    }
    await world.running.eventsSettled();
    return { id, title, artifact, price };
  };

  const shopper = async (settings: BrowserContextOptions & { account?: TestAccount } = {}): Promise<Shopper> => {
    const { account, ...context } = settings;
    const visitor = await browser.visitor(context);
    const { page } = visitor;
    const { world } = trade;
    const payer = account ?? (await richAccount(world));
    const wallet = await installWallet(visitor, payer);
    const open = async ({ id }: Goods): Promise<void> => {
      await page.goto(`${world.url}/listing/${id}/buy`);
      await page.locator('#wallet-0').waitFor();
    };
    const toMessage = async (one: Goods): Promise<void> => {
      await open(one);
      await page.click('#wallet-0');
      await page.locator('#sign').waitFor();
    };
    return {
      ...{ visitor, page, wallet, payer, open, toMessage },
      toSettled: async (one) => {
        await toMessage(one);
        await page.click('#sign');
        await page.locator('.money.paid').waitFor();
      },
      paid: () => paidUnits(world.chain, payer.address, SELLER),
      readPage: () => page.locator('main').innerText(),
    };
  };
  return { ...trade, goods, shopper, browser };
}

/** Drops console messages about refusals that are a normal part of a payment. */
export function beyondRefusals({ complaints }: Visitor): string[] {
  return complaints.filter((one) => !/status of (?:402|404|409|503)/.test(one));
}

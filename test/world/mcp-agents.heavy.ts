import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { META, needsCity, TOOLS } from '../../src/contract/tools.ts';
import { LISTING_FEE_UNITS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, USDC_ADDRESS, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { connectTools, REVISIONS, type Revision } from '../../src/local/connect-tools.ts';
import { createToolClient } from '../../src/local/speak-by-tools.ts';
import { buyByTools, sellByTools } from '../../src/local/trade-by-tools.ts';
import { readBalance } from '../../src/platform/chain/usdc.ts';
import type { Hex } from '../../src/platform/hex.ts';
import { createClient } from '../../src/sdk/client.ts';
import type { Environment } from '../../src/sdk/environment.ts';
import type { AuthorizationToSign, Wallet } from '../../src/sdk/payments/payment-proof.ts';
import { PaymentUndecided } from '../../src/sdk/payments/payment-run.ts';
import { createMemoryProofStore } from '../../src/sdk/payments/proof-store.ts';
import { holdsSecret, watchText } from '../support/canary.ts';
import { freePort } from '../support/free-port.ts';
import { paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing, seedPaidPurchase } from '../support/seed.ts';
import { fundedWallet } from '../support/trade.ts';

interface Sent {
  url: string;
  headers: Headers;
  body: string;
}

/** An agent's requests and answers as sent over the network. */
interface Wire {
  fetch: Environment['fetch'];
  sent: Sent[];
  /** Resolves with all complete answers once every response has ended. */
  received(): Promise<string[]>;
}

/** Records an agent's traffic. `cut` may drop an answer by throwing after the market has started on it. */
function recordWire(cut: (sent: Sent) => Promise<void> = async () => {}): Wire {
  const sent: Sent[] = [];
  const answers: Promise<string>[] = [];
  return {
    sent,
    received: () => Promise.all(answers),
    fetch: async (url, init) => {
      const one = { url, headers: new Headers(init.headers), body: typeof init.body === 'string' ? init.body : '' };
      sent.push(one);
      const response = await fetch(url, init);
      try {
        await cut(one);
      } catch (error) {
        await response.body?.cancel();
        throw error;
      }
      watchText(`the headers of ${url}`, JSON.stringify([...response.headers]));
      answers.push(response.clone().text());
      return response;
    },
  };
}

/** Returns the distinct nonces of all sent proofs that move money. */
function noncesSent({ sent }: Pick<Wire, 'sent'>): Set<unknown> {
  return new Set(sent.filter(carriesProof).map(({ body }) => proofIn(body)?.payload?.authorization?.nonce));
}

function carriesProof({ body }: Sent): boolean {
  return (proofIn(body)?.payload?.authorization?.value ?? '0') !== '0';
}

interface Proof {
  payload?: { authorization?: { nonce?: string; value?: string } };
}

function proofIn(body: string): Proof | undefined {
  const message = JSON.parse(body === '' ? '{}' : body) as { params?: { _meta?: Record<string, Proof> } };
  return message.params?._meta?.[META.payment];
}

const PRICE_USDC = 2.5;
const PRICE_UNITS = 2_500_000n;
const { treasury } = WORLD_ACCOUNTS;

let world: World;
beforeAll(async () => {
  world = await startWorld({ port: await freePort(), reconcileEveryMs: 200 });
  // Merchant 1 is the maintainer, who lists without a fee.
  await world.join('the-keeper');
});
afterAll(() => world?.stop());

/** Registers over HTTP, since no tool creates a key. */
async function openStore(handle: string): Promise<string> {
  const client = createClient({ baseUrl: world.url });
  const { body: staged } = await client.register({
    body: { action: 'stage', handle, model: 'a test', client_class: 'coding_persistent', human_approved: true },
  });
  if (staged.status !== 'staged') throw new Error('not staged');
  const { session, csrf, merchant_key: key } = staged;
  await client.register({ body: { action: 'confirm', session, csrf }, key });
  return key;
}

interface Agent {
  wallet: TestAccount;
  revision: Revision;
  key?: string;
  wire?: Wire;
  /** Receives progress messages while the agent follows a payment. */
  onProgress?: (message: string) => void;
  /** Runs whenever the agent pauses. */
  sleep?: () => Promise<void>;
}

/** Creates an agent and counts how often its wallet signs for money. */
async function agentOf({ wallet, revision, key, wire = recordWire(), onProgress, sleep }: Agent) {
  const tools = await connectTools({
    ...{ baseUrl: world.url, revision, environment: wire },
    ...(key === undefined ? {} : { key }),
    watcher: { progress: (_seconds, _total, message) => onProgress?.(message) },
  });
  const client = createToolClient(tools, {
    baseUrl: world.url,
    ...(key === undefined ? {} : { key }),
    environment: sleep === undefined ? {} : { sleep },
  });
  const account: Wallet = wallet.signer;
  const signer = {
    signed: 0,
    address: wallet.address,
    signTypedData: (typed: AuthorizationToSign) => {
      if (typed.message.value > 0n) signer.signed += 1;
      return account.signTypedData(typed);
    },
  };
  return { tools, client, wallet: signer, wire, [Symbol.asyncDispose]: () => tools[Symbol.asyncDispose]() };
}

/** Finalizes when the agent is first told that its payment is not final, so nothing else can end its wait. */
function finalizeWhenTold() {
  const told: string[] = [];
  const moves: Promise<void>[] = [];
  const onProgress = (message: string): void => {
    if (told.push(message) === 1) moves.push(world.finalize());
  };
  return { told, onProgress, done: () => Promise.all(moves) };
}

async function finalizeWhenPaid(from: Hex, to: Hex): Promise<void> {
  await expect.poll(() => paidUnits(world.chain, from, to), { interval: 20 }).toHaveLength(1);
  await world.finalize();
}

const balanceOf = ({ address }: TestAccount): Promise<bigint> => readBalance(world.chain.rpc, USDC_ADDRESS, address);

/** Checks that all requests went to one address and that the key was only in its header. */
function expectKeyKept({ sent }: Wire, key: string | null): void {
  expect(sent.length).toBeGreaterThan(3);
  for (const { url, headers, body } of sent) {
    expect(url).toBe(`${world.url}/mcp`);
    expect(headers.get('authorization')).toBe(key === null ? null : `Bearer ${key}`);
    headers.delete('authorization');
    // The buyer's delivery token is sent next to the arguments, in the request's metadata.
    const around = String(body).replaceAll(/"openaisle\/delivery-token":"aisle_dt_[0-9A-Za-z]{49}"/g, '');
    expect(holdsSecret(`${JSON.stringify([...headers])} ${around}`)).toBe(false);
  }
}

/** Returns names and goods for a revision. In the older revision the buyer has a key, in the newer one only a wallet. */
function partsOf(revision: Revision) {
  const isMember = revision === '2025-11-25';
  const name = isMember ? 'lamp' : 'mirror';
  return { isMember, name, artifact: `The word that opens the ${name} is \u00e9\r\n\t\ud83d\udce6.` };
}

describe.each(REVISIONS)('two agents that speak %s', (revision) => {
  const { isMember, name, artifact } = partsOf(revision);

  it('by tools alone, one opens a store and lists, the other finds, pays once and collects', async () => {
    const [seller, buyer] = [await fundedWallet(world), await fundedWallet(world)];
    const [atFirst, taken] = [await balanceOf(seller), await balanceOf(treasury)];
    const sellerKey = await openStore(`${name}-maker`);
    await using one = await agentOf({ wallet: seller, revision, key: sellerKey });
    const forMembers = TOOLS.filter((tool) => tool.kind !== 'maintainer' && !needsCity(tool));
    expect(one.tools.names).toEqual(forMembers.map((tool) => tool.name));
    const listing = {
      ...{ title: `A ${name} that talks`, description: 'What it is', preview: 'A look', artifact },
      ...{ price_usdc: PRICE_USDC, seller_wallet: seller.address, tags: ['one'] },
    };
    const selling = sellByTools({ ...one, line: `Every kind of ${name}`, listing });
    await Promise.all([selling, finalizeWhenPaid(seller.address, treasury.address)]);
    const { handle, listed } = await selling;
    expect([handle, listed.listing.state]).toEqual([`${name}-maker`, 'live']);
    expect(await paidUnits(world.chain, seller.address, treasury.address)).toEqual([LISTING_FEE_UNITS]);
    expect(await balanceOf(treasury)).toBe(taken + LISTING_FEE_UNITS);

    const buyerKey = isMember ? await openStore(`${name}-lover`) : null;
    const price = finalizeWhenTold();
    const agent: Agent = { wallet: buyer, revision, ...(buyerKey === null ? {} : { key: buyerKey }) };
    await using two = await agentOf({ ...agent, onProgress: price.onProgress });
    const order = { words: `talking ${name}`, maxPriceUsdc: PRICE_USDC };
    const delivery = await buyByTools({ ...two, ...order });
    expect(Buffer.from(delivery.artifact ?? '')).toEqual(Buffer.from(artifact));
    expect([delivery.listing_id, delivery.purchase?.verified_via]).toEqual([listed.listing_id, 'x402']);
    expect(await paidUnits(world.chain, buyer.address, seller.address)).toEqual([PRICE_UNITS]);
    expect(await balanceOf(seller)).toBe(atFirst - LISTING_FEE_UNITS + PRICE_UNITS);

    await price.done();
    expect(price.told.length).toBeGreaterThan(0);
    expect(price.told.join()).not.toContain(artifact);
    if (buyerKey !== null) expect(price.told.join()).not.toContain(buyerKey);
    expect([price.told.join().includes('_dt_'), delivery.delivery_token]).toEqual([false, undefined]);
    for (const { wallet, wire } of [one, two]) expect([wallet.signed, noncesSent(wire).size]).toEqual([1, 1]);
    expectKeyKept(one.wire, sellerKey);
    expectKeyKept(two.wire, buyerKey);
    const answers = [...(await one.wire.received()), ...(await two.wire.received())];
    expect(answers.filter(holdsSecret)).toEqual([]);
    expect(answers.filter((text) => text.includes(`opens the ${name}`))).toHaveLength(1);

    await using again = await agentOf(agent);
    expect((await buyByTools({ ...again, ...order })).artifact).toBe(artifact);
    // Without a key, the wallet proves its ownership with a signature over 0 USDC.
    expect(again.wallet.signed).toBe(0);
    await world.finalize();
    expect(await paidUnits(world.chain, buyer.address, seller.address)).toEqual([PRICE_UNITS]);
    expect(await paidUnits(world.chain, seller.address, treasury.address)).toEqual([LISTING_FEE_UNITS]);
  });
});

it.concurrent.each(REVISIONS)(
  'an agent that lost its answer and then itself goes on with the same proof, and pays nothing more (%s)',
  async (revision) => {
    const { isMember, name, artifact } = partsOf(revision);
    const buyer = await fundedWallet(world);
    const maker = await world.join(`${name}-finder`);
    const { id, wallet: payee } = await seedListing(world.db.database, maker.id, {
      ...{ title: `A ${name} that was found`, priceUnits: PRICE_UNITS, artifact },
    });
    await world.running.eventsSettled();
    const agent: Agent = { wallet: buyer, revision, ...(isMember ? { key: await openStore(`${name}-loser`) } : {}) };
    const order = { words: `${name} found`, maxPriceUsdc: PRICE_USDC, proofStore: createMemoryProofStore() };
    const paid = (): Promise<bigint[]> => paidUnits(world.chain, buyer.address, payee);
    const torn = recordWire(async (sent) => {
      if (!carriesProof(sent)) return;
      await expect.poll(paid, { interval: 20 }).toEqual([PRICE_UNITS]);
      throw new TypeError('the line went dead');
    });
    const dies = (): Promise<void> => Promise.reject(new Error('the process ends'));
    await using first = await agentOf({ ...agent, wire: torn, sleep: dies });
    await expect(buyByTools({ ...first, ...order })).rejects.toThrow(PaymentUndecided);
    await world.finalize();

    await using second = await agentOf(agent);
    const delivery = await buyByTools({ ...second, ...order });
    expect([delivery.listing_id, delivery.artifact]).toEqual([Number(id), artifact]);
    expect(first.wallet.signed).toBe(1);
    // The agent saved enough before its first call: the proof, and without a key also the delivery token.
    expect(second.wallet.signed).toBe(0);
    expect(noncesSent(second.wire).size).toBe(1);
    expect([...noncesSent(second.wire)]).toEqual(expect.arrayContaining([...noncesSent(first.wire)]));
    await world.finalize();
    expect(await paid()).toEqual([PRICE_UNITS]);
    expect((await second.wire.received()).filter(holdsSecret)).toEqual([]);
  },
);

const root = resolve(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/mcp.md'), 'utf8');

/** Writes the page's script to a temporary folder. `run` runs the script and returns its output. */
async function withScript(id: bigint, env: Record<string, string>, use: (run: () => Promise<string>) => Promise<void>) {
  const folder = mkdtempSync(join(tmpdir(), 'openaisle-script-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'buy.mjs'), /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? '');
    const full = { MARKET: world.url, LISTING: String(id), MAX_USDC: '2.5', MERCHANT_KEY: '', ...env };
    await use(async () => {
      const { stdout } = await promisify(execFile)(process.execPath, ['buy.mjs'], {
        cwd: folder,
        env: full,
        timeout: 20_000,
      });
      return stdout;
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

it.concurrent.each(['goods \u00e9', `large \u00e9${'x'.repeat(20_000)}`])(
  'the script of docs/mcp.md buys as it stands there, and once more gets the same without paying (%#)',
  async (artifact) => {
    const buyer = await fundedWallet(world);
    const maker = await world.join(`script-maker-${artifact.length}`);
    const { id, wallet: payee } = await seedListing(world.db.database, maker.id, {
      ...{ title: `What a script buys ${artifact.length}`, priceUnits: PRICE_UNITS, artifact },
    });
    await world.running.eventsSettled();
    await withScript(id, { WALLET_KEY: buyer.key }, async (run) => {
      const [first] = await Promise.all([run(), finalizeWhenPaid(buyer.address, payee)]);
      expect(first).toBe(artifact);
      expect(await run()).toBe(artifact);
    });
    expect(await paidUnits(world.chain, buyer.address, payee)).toEqual([PRICE_UNITS]);
  },
);

it.concurrent('the script of docs/mcp.md gets what is free, and what its merchant bought already, and signs nothing', async () => {
  const maker = await world.join('script-giver');
  const taker = await world.join('script-taker');
  const artifact = `given ${'y'.repeat(20_000)}`;
  const [gift, largeGift, bought] = await Promise.all([
    seedListing(world.db.database, maker.id, { title: 'A gift to a script', priceUnits: 0n, artifact: 'a gift' }),
    seedListing(world.db.database, maker.id, { title: 'A large gift', priceUnits: 0n, artifact }),
    seedListing(world.db.database, maker.id, { title: 'Bought before', priceUnits: PRICE_UNITS, artifact: 'once' }),
  ]);
  await seedPaidPurchase(world.db.database, bought.id, { merchantId: taker.id });
  await world.running.eventsSettled();
  // This is not a valid key, so the script could not sign with it.
  const env = { WALLET_KEY: 'none' };
  await withScript(gift.id, env, async (run) => expect([await run(), await run()]).toEqual(['a gift', 'a gift']));
  await withScript(largeGift.id, env, async (run) => expect(await run()).toBe(artifact));
  await withScript(bought.id, { ...env, MERCHANT_KEY: taker.key }, async (run) => expect(await run()).toBe('once'));
});

it('docs/mcp.md names every tool, and no other', () => {
  const table = page.slice(page.indexOf('## Tools'), page.indexOf('`tools/list`'));
  const named = [...table.matchAll(/`([a-z_]+)`/g)].map(([, tool]) => tool);
  expect(named.sort()).toEqual(TOOLS.map((tool) => tool.name).sort());
});

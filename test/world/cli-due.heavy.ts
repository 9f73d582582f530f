import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestAccount } from '../../src/local/chain/accounts.ts';
import { testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import type { Hex } from '../../src/platform/hex.ts';
import type { Environment } from '../../src/sdk/environment.ts';
import { freePort } from '../support/free-port.ts';
import { type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { type CliOptions, type CliRun, cliRuns } from './run-cli.ts';
import { seedVersion } from './version-stage.ts';

// The command line signs and records only amounts that are due, and only if its clock is close to the market's.

const { sellerOne, sellerTwo, treasury } = WORLD_ACCOUNTS;
const MINUTE_MS = 60_000;
const RUN_OUT_MS = 18 * MINUTE_MS;

const cli = cliRuns();
let world: World;
let seller: Member;
let made = 0;

beforeAll(async () => {
  world = await startWorld({ port: await freePort() });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
});
afterAll(() => world?.stop());

async function list(priceUnits: bigint, wallet: Hex = sellerOne.address): Promise<number> {
  made += 1;
  const artifact = `goods ${made} of what is due`;
  const { id } = await seedListing(world.db.database, seller.id, { wallet, priceUnits, artifact });
  await world.running.eventsSettled();
  return Number(id);
}

async function newer(supersedes: number, priceUnits: bigint): Promise<number> {
  made += 1;
  const given = { supersedes: BigInt(supersedes), priceUnits, artifact: `newer goods ${made}` };
  const id = await seedVersion(world.db.database, { ...given, createdAt: new Date() });
  await world.running.eventsSettled();
  return Number(id);
}

interface Machine {
  wallet: TestAccount;
  run(args: readonly string[], more?: { aheadMs?: number; env?: Record<string, string> }): Promise<CliRun>;
  /** Value in USDC units of every proof that was sent. */
  sent: bigint[];
  paid(to?: Hex): Promise<bigint[]>;
}

/** Sets up a machine with its own wallet or another machine's, and records the amounts of its proofs. Its waits make blocks final. */
async function machine(name: string, wallet = testAccount(`of ${name}`)): Promise<Machine> {
  await fund(world.chain, [{ address: wallet.address, usdcUnits: 20_000_000n, wei: 0n }]);
  const sent: bigint[] = [];
  const fetchNoting: Environment['fetch'] = (url, init) => {
    const proof = new Headers(init.headers).get('payment-signature');
    if (proof !== null) sent.push(valueIn(proof));
    return fetch(url, init);
  };
  return {
    ...{ wallet, sent },
    run: (args, { aheadMs = 0, env = {} } = {}) => {
      const environment = { fetch: fetchNoting, now: () => Date.now() + aheadMs, sleep: () => world.finalize() };
      const own = { OPENAISLE_WALLET_KEY: wallet.key, XDG_DATA_HOME: join(cli.folder(), name) };
      const options: CliOptions = { market: world.url, env: { ...own, ...env }, environment };
      return cli.run(args, options);
    },
    paid: (to = sellerOne.address) => paidUnits(world.chain, wallet.address, to),
  };
}

function valueIn(header: string): bigint {
  const { payload } = JSON.parse(Buffer.from(header, 'base64').toString('utf8')) as {
    payload: { authorization: { value: string } };
  };
  return BigInt(payload.authorization.value);
}

const spentToday = async ({ run }: Machine, aheadMs = 0) =>
  (await run(['purchases', '--json'], { aheadMs })).json()['spent_today_usdc'];

describe('a newer version that is free for who bought the older one', () => {
  test('is had without a signature over its price, in words, JSON, book and day; on any machine of the wallet', async () => {
    const older = await list(2_000_000n);
    const here = await machine('here');
    expect((await here.run(['buy', String(older), '--max', '2'])).code).toBe(0);
    const next = await newer(older, 2_200_000n);
    here.sent.length = 0;
    const bought = await here.run(['buy', String(next), '--max', '2.2']);
    expect([bought.code, bought.stdout]).toEqual([0, expect.stringMatching(/: nothing was due\. The goods match/)]);
    expect(bought.stdout).not.toContain('transaction');
    expect(here.sent).toEqual([0n]);
    const listed = await here.run(['purchases']);
    expect(listed.stdout).toMatch(new RegExp(`  ${next}  nothing due  settled, intact`));
    expect(listed.stdout).toContain('today 2 of 20 USDC');
    const again = await here.run(['buy', String(next), '--max', '2.2', '--json']);
    expect(again.json()).toMatchObject({ already_here: true, paid_usdc: 0, receipt: null });

    const there = await machine('there', here.wallet);
    // A limit below the price, even 0, is accepted because nothing is due.
    const collected = await there.run(['buy', String(next), '--max', '0', '--json']);
    expect([collected.code, collected.json()]).toMatchObject([0, { paid_usdc: 0, receipt: null }]);
    const earlier = await there.run(['buy', String(older), '--max', '2', '--json']);
    expect(earlier.json()).toMatchObject({ paid_usdc: 0, receipt: { amount_usdc: 2 } });
    expect([there.sent, await spentToday(there)]).toEqual([[0n, 0n], 0]);
    expect(await here.paid()).toEqual([2_000_000n]);
  });

  test('costs its price for who bought no older one', async () => {
    const next = await newer(await list(2_000_000n), 2_200_000n);
    const stranger = await machine('stranger');
    const bought = await stranger.run(['buy', String(next), '--max', '2.2', '--json']);
    expect(bought.json()).toMatchObject({ paid_usdc: 2.2 });
    expect([new Set(stranger.sent), await stranger.paid()]).toEqual([new Set([0n, 2_200_000n]), [2_200_000n]]);
  });
});

describe('one’s own goods', () => {
  test('are not bought by the wallet that sells them: nothing is sent, booked or counted', async () => {
    const id = await list(500_000n);
    const shop = await machine('shop', sellerOne);
    for (const more of [[], ['--pay-again']]) {
      const { code, json } = await shop.run(['buy', String(id), '--max', '1', '--json', ...more]);
      expect([code, json()]).toMatchObject([
        1,
        { status: 'refused', reason: 'own_goods', next_step: expect.stringContaining('openaisle export') },
      ]);
    }
    expect((await shop.run(['wait'])).stdout).toContain('This wallet has no payments in progress');
    expect([shop.sent, (await shop.run(['purchases', '--json'])).json()]).toMatchObject([
      [],
      { purchases: [], spent_today_usdc: 0 },
    ]);
  });

  test('nor by another wallet of the seller, and nothing leads on to another payment', async () => {
    await list(500_000n, sellerTwo.address);
    const id = await list(500_000n);
    const shop = await machine('second shop', sellerTwo);
    const told: CliRun[] = [];
    for (const args of [
      ['buy', String(id), '--max', '1'],
      ['wait'],
      ['wait', '--pay-again'],
      ['buy', String(id), '--max', '1', '--pay-again'],
    ])
      told.push(await shop.run([...args, '--json']));
    for (const { code, stdout, json } of told) {
      expect([code, json()['reason']]).toEqual([1, 'own_goods']);
      expect(stdout).not.toContain('--pay-again');
    }
    expect(shop.sent.filter((units) => units > 0n)).toEqual([500_000n]);
    expect(await spentToday(shop)).toBe(0.5);
    expect(await spentToday(shop, RUN_OUT_MS)).toBe(0);
    const later = await shop.run(['wait'], { aheadMs: RUN_OUT_MS });
    expect(later.stdout).toContain('This wallet has no payments in progress');
    expect(await shop.paid()).toEqual([]);
  });
});

describe('a clock', () => {
  test.each([-14, -3, 3, 14])('that is %i minutes off buys, with one payment', async (minutes) => {
    const id = await list(100_000n);
    const aheadMs = minutes * MINUTE_MS;
    const buyer = await machine(`clock ${minutes}`);
    const bought = await buyer.run(['buy', String(id), '--max', '1', '--json'], { aheadMs });
    expect([bought.code, bought.json()]).toMatchObject([0, { paid_usdc: 0.1 }]);
    expect(await buyer.paid()).toEqual([100_000n]);
  });

  test.each([-16, 16])('that is %i minutes off signs nothing, and both times are named', async (minutes) => {
    const id = await list(100_000n);
    const buyer = await machine(`far clock ${minutes}`);
    const refused = await buyer.run(['buy', String(id), '--max', '1', '--json'], { aheadMs: minutes * MINUTE_MS });
    expect([refused.code, refused.json()]).toMatchObject([
      1,
      { reason: 'clock_wrong', title: expect.stringMatching(/T.*Z.*T.*Z/) },
    ]);
    expect(refused.stdout).not.toContain('--pay-again');
    expect([buyer.sent, await spentToday(buyer)]).toEqual([[], 0]);
  });
});

describe('a key whose account has code that takes no signature (EIP-7702)', () => {
  const delegate = `0x${'d1'.repeat(20)}` as const;

  async function delegated(name: string): Promise<Machine> {
    const owner = await machine(name);
    await world.chain.rpc.call('anvil_setCode', [delegate, '0x60006000fd']);
    await world.chain.rpc.call('anvil_setCode', [owner.wallet.address, `0xef0100${delegate.slice(2)}`]);
    await world.finalize();
    return owner;
  }

  test('is never told to sign again: nothing is signed over money, and the way by a transfer is named', async () => {
    const id = await list(500_000n);
    const owner = await delegated('delegated');
    for (const more of [[], ['--pay-again']]) {
      const { code, stdout, json } = await owner.run(['buy', String(id), '--max', '1', '--json', ...more]);
      expect([code, json()]).toMatchObject([1, { reason: 'payment_invalid' }]);
      expect(String(json()['next_step'])).toContain('pay by a transfer, or with another wallet');
      expect(String(json()['next_step'])).toContain(`curl -X POST ${world.url}/api/purchase-intent/${id} `);
      expect(stdout).not.toContain('--pay-again');
    }
    expect([new Set(owner.sent), await spentToday(owner)]).toEqual([new Set([0n]), 0]);
    const named = await owner.run(['buy', String(id), '--max', '1', '--json'], {
      env: { OPENAISLE_RPC: world.chain.url },
    });
    expect(named.json()['title']).toContain(delegate);
  });

  test('pays no fee twice, and the fee that it signed counts no longer than it could be carried out', async () => {
    const owner = await delegated('delegated seller');
    const file = join(cli.folder(), 'goods.txt');
    await writeFile(file, `goods of ${owner.wallet.address}`);
    const key = ['--key-stdin'];
    const words = ['--title', 'Goods of a delegated wallet', '--price', '1', '--description', 'd'];
    const sell = (...more: string[]) =>
      cli.run(['sell', file, ...words, ...key, '--json', ...more], {
        market: world.url,
        input: `${seller.key}\n`,
        env: { OPENAISLE_WALLET_KEY: owner.wallet.key, XDG_DATA_HOME: join(cli.folder(), 'delegated seller') },
        environment: { sleep: () => world.finalize() },
      });
    for (const more of [[], ['--pay-again']]) {
      const { code, stdout, json } = await sell(...more);
      expect([code, json()['reason']]).toEqual([1, 'payment_invalid']);
      expect(String(json()['next_step'])).toContain('/api/fee-intent');
      expect(stdout).not.toContain('--pay-again');
    }
    expect(await spentToday(owner)).toBe(1);
    expect(await spentToday(owner, RUN_OUT_MS)).toBe(0);
    expect(await owner.paid(treasury.address)).toEqual([]);
  });
});

import { mkdir, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { freePort } from '../support/free-port.ts';
import { paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { type SiteProxy, startSiteProxy } from '../support/site-proxy.ts';
import { type CliRun, cliRuns } from '../world/run-cli.ts';

// A second market on the same host asks its visitor to sign for goods bought at the first market, and tries to collect there with that
// signature.

const { sellerOne } = WORLD_ACCOUNTS;
const PRICE = 2_000_000n;
const cli = cliRuns();
let first: World;
let second: World;
let liar: SiteProxy;
let wallet: TestAccount;
let id: number;

beforeAll(async () => {
  [first, second] = [await startWorld({ port: await freePort() }), await startWorld({ port: await freePort() })];
  const ids: bigint[] = [];
  for (const world of [first, second]) {
    await world.join('the-keeper');
    const seller = await world.join('seller-one');
    const given = { wallet: sellerOne.address, priceUnits: PRICE, artifact: 'goods of the first market' };
    ids.push((await seedListing(world.db.database, seller.id, given)).id);
    await world.running.eventsSettled();
  }
  expect(ids[0]).toBe(ids[1]);
  id = Number(ids[0]);
  wallet = testAccount('a visitor of two markets');
  await fund(first.chain, [{ address: wallet.address, usdcUnits: 10n * PRICE, wei: 0n }]);
  liar = await startSiteProxy(() => second.url);
  const bought = await run(first.url, ['buy', String(id), '--max', '3']);
  expect(bought.code, bought.stderr).toBe(0);
});
afterAll(async () => {
  await liar?.close();
  await first?.stop();
  await second?.stop();
});

function run(market: string, args: string[], machine = 'here', env: Record<string, string> = {}): Promise<CliRun> {
  const own = { OPENAISLE_WALLET_KEY: wallet.key, XDG_DATA_HOME: join(cli.folder(), machine) };
  return cli.run(args, { market, env: { ...own, ...env }, environment: { sleep: () => first.finalize() } });
}

/** Makes the second market claim that the goods are paid for, and ask for a signature that would collect them at the first market. */
function lie(price: 'priced' | 'free'): void {
  liar.seen.length = 0;
  liar.twist(({ method, path, json, status }) => {
    if (method === 'GET' && path.startsWith('/api/listing/') && price === 'free') {
      const { listing, ...rest } = json as { listing: object };
      return { status, json: { ...rest, listing: { ...listing, price_usdc: 0 } } };
    }
    if (method !== 'POST' || !path.startsWith('/api/buy/')) return null;
    const { collect } = json as { collect?: object };
    if (collect !== undefined)
      return { status, json: { ...(json as object), collect: { ...collect, base_url: first.url } } };
    const about = { type: `${liar.url}/docs/errors/sign_to_collect`, title: 'Sign', status: 409, detail: 'Sign.' };
    const table = { error_class: 'conflict', error: 'Sign.', next_step: 'Sign.', request_id: 'r' };
    const said = { ...table, reason: 'sign_to_collect', retry: 'after_fix', do_not_pay_again: true };
    return { status: 409, json: { ...about, ...said } };
  });
}

/** Replays the visitor's proofs at the first market and returns the statuses. */
async function collectThere(): Promise<number[]> {
  const statuses: number[] = [];
  for (const { path, headers, body } of liar.seen) {
    const proof = Object.entries(headers).filter(([name]) => /^(?:x-payment|payment-signature)$/.test(name));
    if (proof.length === 0) continue;
    const sent = {
      'content-type': 'application/json',
      ...Object.fromEntries(proof.map(([name, text]) => [name, String(text)])),
    };
    statuses.push((await fetch(first.url + path, { method: 'POST', headers: sent, body })).status);
  }
  return statuses;
}

test('nothing is signed for a market that was not named; the refusal names both and the option', async () => {
  lie('priced');
  const refused = await run(liar.url, ['buy', String(id), '--max', '3', '--json']);
  expect(await collectThere()).toEqual([]);
  expect([refused.code, refused.json()['reason']]).toEqual([1, 'other_market']);
  expect(refused.json()['title']).toContain(`The market at ${liar.url} calls itself ${first.url}`);
  expect(refused.json()['next_step']).toContain('--market-calls-itself URL');
});

test('nor where the goods are called free and the policy leaves that market out', async () => {
  lie('free');
  const home = join(cli.folder(), 'strict');
  await mkdir(home);
  const policy = { version: 1, per_purchase_usdc: 3, per_day_usdc: 20, markets: [first.url] };
  await writeFile(join(home, 'policy.json'), JSON.stringify(policy), { mode: 0o600 });
  const refused = await run(liar.url, ['buy', String(id), '--max', '3', '--json'], 'strict', { OPENAISLE_HOME: home });
  expect(await collectThere()).toEqual([]);
  expect([refused.code, refused.json()['reason']]).toEqual([1, 'market_not_allowed']);
});

test('through a tunnel the owner says what the market calls itself, and collects; without that the owner is told, and nothing is paid twice', async () => {
  const sockets = new Set<Socket>();
  const tunnel = createServer((near) => {
    const far = connect(Number(new URL(first.url).port), '127.0.0.1');
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}));
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => tunnel.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(tunnel.address() as AddressInfo).port}`;
  try {
    const named = await run(
      url,
      ['buy', String(id), '--max', '3', '--market-calls-itself', first.url, '--json'],
      'named',
    );
    expect([named.code, named.json()]).toMatchObject([0, { paid_usdc: 0, verified: true }]);
    const byVariable = { OPENAISLE_MARKET_CALLS_ITSELF: first.url };
    const set = await run(url, ['buy', String(id), '--max', '3', '--json'], 'set', byVariable);
    expect([set.code, set.json()]).toMatchObject([0, { paid_usdc: 0 }]);
    const silent = await run(url, ['buy', String(id), '--max', '3'], 'silent');
    expect(silent.stderr).toContain('The purchase continues');
    expect(silent.stderr).toContain(`The market at ${url} calls itself ${first.url}`);
    expect(silent.stderr).toContain('--market-calls-itself URL');
    expect(await paidUnits(first.chain, wallet.address, sellerOne.address)).toEqual([PRICE]);
  } finally {
    for (const socket of sockets) socket.destroy();
    tunnel.close();
  }
});

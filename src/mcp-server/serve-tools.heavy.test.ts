import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERAS, inspectCommand, TOOL_ERROR } from '../../test/judges/mcp-judge.ts';
import { rotated } from '../../test/suite/rotation.ts';
import { usdcAdmin } from '../../test/support/chain.ts';
import { freePort } from '../../test/support/free-port.ts';
import { type Owner, ownerHomes, spawnHost, speakRaw } from '../../test/support/local-tools.ts';
import { paidUnits, startWorld, type World } from '../../test/support/market-world.ts';
import { seedListing } from '../../test/support/seed.ts';
import { printWallet } from '../agent/wallet-file.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../local/chain/accounts.ts';

const { sellerOne, treasury } = WORLD_ACCOUNTS;

const MOMENTS = rotated(import.meta.filename, ['starting', 'signed', 'payment submitted', 'transfer seen']);

let world: World;
let seller: bigint;
const makeOwner = ownerHomes();

beforeAll(async () => {
  world = await startWorld({ port: await freePort() });
  await world.join('the-keeper');
  ({ id: seller } = await world.join('seller-one'));
});
afterAll(() => world?.stop());

async function list(artifact: string, title: string): Promise<number> {
  const goods = { wallet: sellerOne.address, priceUnits: 1_000_000n, artifact, title };
  const { id } = await seedListing(world.db.database, seller, goods);
  await world.running.eventsSettled();
  return Number(id);
}

async function funded(name: string): Promise<TestAccount> {
  const wallet = testAccount(name);
  await usdcAdmin(world.chain).mint(wallet.address, 100_000_000n);
  return wallet;
}

/** Checks that the process printed none of the owner's keys. */
function expectNoKey(texts: readonly string[], { key }: TestAccount): void {
  for (const text of texts) expect(text.toLowerCase().includes(key.slice(2))).toBe(false);
}

describe.each(ERAS)('openaisle mcp as a process of a host, revision %s', (era) => {
  test('an agent with these tools alone finds, buys, verifies and sells', async () => {
    const wallet = await funded(`spawned ${era}`);
    const merchant = await world.join(`spawned-${era}`);
    const owner = await makeOwner({ market: world.url, wallet, merchant });
    await mkdir(join(owner.home, 'outbox'));
    const id = await list(`goods for ${era}`, `Spawned goods ${era}`);
    const host = await spawnHost({
      owner,
      era,
      args: ['--sell-from', 'outbox', '--dir', 'bought', '--rpc', world.chain.url],
    });
    const { data: found } = await host.call('search', { q: `"Spawned goods ${era}"` });
    expect(found).toMatchObject({ total: 1, listings: [{ listing_id: id }] });
    // Advances the chain at each progress message.
    const bought = await host.call('buy', { listing_id: id, max_price_usdc: 1 }, () => void world.finalize());
    expect(bought.data).toMatchObject({ status: 'bought', first_lines: `goods for ${era}`, verified: { ok: true } });
    const path = String(bought.data['path']);
    expect(path.startsWith(join(owner.home, 'bought'))).toBe(true);
    const { data: checked } = await host.call('purchases', { listing_id: id });
    expect(checked).toMatchObject({ verified: { ok: true, goods: 'intact', market: 'agrees', chain: 'final' } });

    await writeFile(join(owner.home, 'outbox', 'made.md'), `# Made of ${await readFile(path, 'utf8')}`);
    const goods = { title: `Made by an agent ${era}`, description: 'what it is', price_usdc: 2, path: 'made.md' };
    const sold = await host.call('sell', goods, () => void world.finalize());
    expect(sold.data).toMatchObject({ status: 'listed', fee_usdc: 1 });
    const { data: shown } = await host.call('show', { listing_id: sold.data['listing_id'] });
    expect(shown).toMatchObject({ title: goods.title, seller: merchant.handle, seller_wallet: wallet.signer.address });
    expect(await paidUnits(world.chain, wallet.address, sellerOne.address)).toEqual([1_000_000n]);
    expect(await paidUnits(world.chain, wallet.address, treasury.address)).toEqual([1_000_000n]);
    await host.close();
    expectNoKey([...host.heard, host.stderr()], wallet);
    expect([...host.heard, host.stderr()].join('')).not.toContain(merchant.key);
  });

  test('killed in the middle of a purchase, the same call of the next process goes on and pays nothing twice', async () => {
    const wallet = await funded(`killed ${era}`);
    const owner = await makeOwner({ market: world.url, wallet });
    for (const [round, at] of MOMENTS.entries()) {
      const id = await list(`killed goods ${era} ${round}`, `Killed goods ${era} ${round}`);
      const given = { listing_id: id, max_price_usdc: 1 };
      const first = await spawnHost({ owner, era });
      let killed = false;
      const cut = first.call('buy', given, (step) => {
        if (killed || !step.startsWith(at)) return;
        killed = true;
        first.kill();
      });
      if (at === 'starting') first.kill();
      await expect(cut).rejects.toThrow();
      await first.ended;
      const second = await spawnHost({ owner, era });
      const bought = await second.call('buy', given, () => void world.finalize());
      expect(bought.data, at).toMatchObject({ status: 'bought', first_lines: `killed goods ${era} ${round}` });
      await second.close();
    }
    expect(await paidUnits(world.chain, wallet.address, sellerOne.address)).toEqual(MOMENTS.map(() => 1_000_000n));
  });

  test('fifty calls at once of two processes stay below the day’s limit', async () => {
    const wallet = await funded(`crowd ${era}`);
    const owner: Owner = await makeOwner({ market: world.url, wallet, policy: { per_day_usdc: 3 } });
    const ids = await Promise.all(Array.from({ length: 10 }, (_, n) => list(`crowd ${era} ${n}`, `Crowd ${era} ${n}`)));
    const hosts = await Promise.all([spawnHost({ owner, era }), spawnHost({ owner, era })]);
    const calls = Array.from({ length: 50 }, (_, n) =>
      hosts[n % 2]?.call('buy', { listing_id: ids[n % ids.length], max_price_usdc: 1 }, () => void world.finalize()),
    );
    const answers = await Promise.all(calls);
    expect(await paidUnits(world.chain, wallet.address, sellerOne.address)).toEqual([1, 1, 1].map(() => 1_000_000n));
    const reasons = new Set(answers.map((answer) => answer?.data['reason'] ?? answer?.data['status']));
    expect([...reasons].toSorted()).toEqual(['above_per_day', 'bought', 'purchase_in_use']);
    for (const host of hosts) await host.close();
  });

  test('the inspector finds nothing to mend in the list, and gets data and refusals', async () => {
    const wallet = await funded(`inspected ${era}`);
    const owner = await makeOwner({ market: world.url, wallet });
    const id = await list(`inspected ${era}`, `Inspected ${era}`);
    const listed = await inspectCommand(owner.env, era, ['--method', 'tools/list', '--strict']);
    expect(listed, listed.stderr).toMatchObject({ code: 0 });
    const tool = (name: string, given: object) =>
      inspectCommand(owner.env, era, [
        ...['--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(given)],
      ]);
    const shown = await tool('show', { listing_id: id });
    expect(shown).toMatchObject({ code: 0, result: { structuredContent: { title: `Inspected ${era}` } } });
    const refused = await tool('buy', { listing_id: id, max_price_usdc: 0.5 });
    expect(refused).toMatchObject({ code: TOOL_ERROR, result: { structuredContent: { reason: 'above_max_price' } } });
  });
});

test('nothing but the protocol is on the standard output, also while it pays, and it ends in order when its input does', async () => {
  const wallet = await funded('raw');
  const owner = await makeOwner({ market: world.url, wallet });
  const id = await list('raw goods', 'Raw goods');
  const clientInfo = { name: 'raw', version: '1' };
  const given = { name: 'buy', arguments: { listing_id: id, max_price_usdc: 1 }, _meta: { progressToken: 4 } };
  const messages = [
    { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'buy', arguments: { listing_id: 99_999, max_price_usdc: 1 } } },
    { id: 3, method: 'tools/call', params: { name: 'show', arguments: { listing_id: id } } },
    { id: 4, method: 'tools/call', params: given },
  ];
  const { code, lines, stderr } = await speakRaw(owner, messages, { onLine: () => void world.finalize() });
  expect(lines.map((line) => JSON.parse(line).jsonrpc)).toEqual(lines.map(() => '2.0'));
  expect(lines.filter((line) => line.includes('notifications/progress'))).not.toEqual([]);
  expect(lines.at(-1)).toContain('was bought for 1 USDC');
  expect(stderr).toContain(`bought: listing ${id}, 1 USDC`);
  expect(code).toBe(0);
});

test('a host that closes in the middle of a payment ends it in order, and the next one goes on', async () => {
  const wallet = await funded('left alone');
  const owner = await makeOwner({ market: world.url, wallet });
  const id = await list('awaited goods', 'Awaited goods');
  const clientInfo = { name: 'raw', version: '1' };
  const given = { listing_id: id, max_price_usdc: 1 };
  const messages = [
    { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo } },
    { method: 'notifications/initialized' },
    { id: 2, method: 'tools/call', params: { name: 'buy', arguments: given, _meta: { progressToken: 2 } } },
  ];
  const { code, lines } = await speakRaw(owner, messages, { endAt: 'transfer seen; waiting' });
  expect([code, lines.some((line) => line.includes('"id":2'))]).toEqual([0, false]);
  const host = await spawnHost({ owner, era: 'modern' });
  expect((await host.call('status')).data).toMatchObject({ wallet: { open_payments: [{ listing_id: id }] } });
  expect((await host.call('buy', given, () => void world.finalize())).data).toMatchObject({ status: 'bought' });
  await host.close();
  expect(await paidUnits(world.chain, wallet.address, sellerOne.address)).toEqual([1_000_000n]);
});

test('a keystore is opened by the passphrase of the variable, once, and an identity of another market is not used', async () => {
  const wallet = await funded('locked away');
  const merchant = await world.join('elsewhere');
  const owner = await makeOwner({ market: 'http://127.0.0.1:1', wallet, merchant });
  const file = join(owner.home, 'keystore.json');
  await writeFile(file, printWallet(wallet.key, wallet.address, 'a passphrase'), { mode: 0o600 });
  const id = await list('for a keystore', 'For a keystore');
  const env = { ...owner.env, OPENAISLE_MARKET: world.url, OPENAISLE_WALLET_PASSPHRASE: 'a passphrase' };
  const identity = join(owner.home, '.config', 'openaisle', '127.0.0.1_1', 'elsewhere.json');
  const host = await spawnHost({
    owner: { ...owner, env },
    era: 'modern',
    args: ['--wallet', file, '--file', identity],
  });
  const bought = await host.call('buy', { listing_id: id, max_price_usdc: 1 }, () => void world.finalize());
  expect(bought.data).toMatchObject({ status: 'bought' });
  const sold = await host.call('sell', { title: 'Goods', description: 'd', price_usdc: 1, text: 'goods' });
  expect(sold).toMatchObject({ isError: true, data: { status: 'wrong_use' } });
  expect(sold.text).toContain('is for http://127.0.0.1:1');
  await host.close();
  expectNoKey([...host.heard, host.stderr()], wallet);
  expect([...host.heard, host.stderr()].join('')).not.toContain('a passphrase');
});

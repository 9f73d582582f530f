import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { freePort } from '../support/free-port.ts';
import { type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { type CliOptions, cliRuns } from './run-cli.ts';

const { buyerOne, buyerTwo, sellerOne } = WORLD_ACCOUNTS;

describe('the command line buys', () => {
  const cli = cliRuns();
  let world: World;
  let seller: Member;
  let around: CliOptions;
  const stop = new AbortController();
  let mining: Promise<void>;
  /** Mining pauses until this resolves. */
  let gate = Promise.resolve();

  beforeAll(async () => {
    world = await startWorld({ port: await freePort() });
    await world.join('the-keeper');
    seller = await world.join('seller-one');
    around = {
      market: world.url,
      env: { OPENAISLE_WALLET_KEY: buyerOne.key, XDG_DATA_HOME: join(cli.folder(), 'data') },
    };
    // The commands wait for finality by this machine's clock, so keep mining meanwhile.
    mining = (async () => {
      while (!stop.signal.aborted) {
        await gate;
        await world.finalize();
      }
    })();
  });
  afterAll(async () => {
    stop.abort();
    await mining;
    await world?.stop();
  });

  async function list(priceUnits: bigint, artifact: string): Promise<number> {
    const { id } = await seedListing(world.db.database, seller.id, { wallet: sellerOne.address, priceUnits, artifact });
    await world.running.eventsSettled();
    return Number(id);
  }

  test('buy, buy again, purchases, verify: with and without --json, and one payment', async () => {
    const id = await list(1_250_000n, 'goods of the command line');
    const bought = await cli.run(['buy', String(id), '--max', '1.25', '--json'], around);
    expect([bought.code, bought.stderr]).toEqual([0, '']);
    const { path } = bought.json() as { path: string };
    expect(bought.json()).toMatchObject({ status: 'ok', listing_id: id, paid_usdc: 1.25, already_here: false });
    expect(await readFile(path, 'utf8')).toBe('goods of the command line');

    const again = await cli.run(['buy', String(id), '--max', '1.25'], around);
    expect(again.stdout).toContain('bought before, still here');
    expect(await paidUnits(world.chain, buyerOne.address, sellerOne.address)).toEqual([1_250_000n]);

    const listed = (await cli.run(['purchases', '--json'], around)).json();
    expect(listed).toMatchObject({ spent_today_usdc: 1.25, purchases: [{ listing_id: id, goods: 'intact', path }] });
    expect((await cli.run(['purchases'], around)).stdout).toContain('settled, intact');

    for (const meant of [String(id), path]) {
      const verified = await cli.run(['verify', meant, '--rpc', world.chain.url, '--json'], around);
      expect(verified.json()).toMatchObject({
        ...{ status: 'ok', ok: true, goods: 'intact' },
        ...{ market: { status: 'agrees' }, chain: { status: 'final' } },
      });
    }
    await writeFile(path, 'other goods');
    const changed = await cli.run(['verify', path, '--json'], around);
    expect([changed.code, changed.json()]).toEqual([1, expect.objectContaining({ reason: 'not_verified' })]);
  });

  test('a person who waits is told how it stands, on the standard error', async () => {
    const id = await list(10_000n, 'goods that are waited for');
    const { code, stdout, stderr } = await cli.run(['buy', String(id), '--max', '1'], around);
    expect(code).toBe(0);
    expect(stderr).toMatch(/signed and saved/);
    expect(stdout).not.toMatch(/signed/);
  });

  test.each([
    ['no limit', ['buy', '1'], 2, 'wrong_use'],
    ['a limit that is no sum', ['buy', '1', '--max', '1e3'], 2, 'wrong_use'],
    ['no number', ['buy', 'goods', '--max', '1'], 2, 'wrong_use'],
    ['no such listing', ['buy', '999999', '--max', '1'], 1, 'not_found'],
    ['a folder that is a file', ['buy', '1', '--max', '1', '--dir', import.meta.filename], 2, 'file_not_writable'],
    ['nothing bought', ['verify', '999999'], 2, 'no_purchase'],
    ['no chain named', ['wallet', 'balance'], 2, 'wrong_use'],
    [
      'a chain that does not answer',
      ['wallet', 'balance', '--rpc', 'http://127.0.0.1:1/secret'],
      1,
      'chain_unreadable',
    ],
  ])('%s is refused', async (_, args, code, reason) => {
    const refused = await cli.run([...args, '--json'], around);
    expect([refused.code, refused.json()['reason']]).toEqual([code, reason]);
    expect(refused.stdout + refused.stderr).not.toContain('secret');
  });

  test('above the price, above the policy, and under a policy that cannot be read: nothing is signed', async () => {
    const id = await list(3_000_000n, 'dear goods');
    const reasonOf = async (...args: string[]) =>
      (await cli.run(['buy', String(id), '--json', ...args], around)).json()['reason'];
    expect(await reasonOf('--max', '2.999999')).toBe('above_max_price');
    const policy = join(cli.folder(), 'config', 'openaisle', 'policy.json');
    await mkdir(dirname(policy), { recursive: true });
    const limits = { version: 1, per_purchase_usdc: 2, per_day_usdc: 2 };
    await writeFile(policy, JSON.stringify(limits));
    expect(await reasonOf('--max', '3')).toBe('above_per_purchase');
    await writeFile(policy, JSON.stringify({ ...limits, per_purchase_usdc: 3, ask_above_usdc: 1, per_day_usdc: 9 }));
    expect(await reasonOf('--max', '3')).toBe('needs_person');
    await writeFile(policy, '{');
    expect(await reasonOf('--max', '3')).toBe('policy_unreadable');
    await rm(policy);
    expect(await paidUnits(world.chain, buyerOne.address, sellerOne.address)).not.toContain(3_000_000n);
  });

  test('an interrupted wait says how to go on, and wait goes on', async () => {
    const id = await list(20_000n, 'goods after a break');
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    const { child, ended } = cli.start(['buy', String(id), '--max', '1'], around);
    child.stderr?.once('data', () => child.kill('SIGINT'));
    const { code, stderr } = await ended;
    resolve();
    expect([code, stderr]).toEqual([3, expect.stringContaining('openaisle wait')]);
    const went = await cli.run(['wait', '--json'], around);
    expect(went.json()).toMatchObject({ status: 'ok', finished: [{ kind: 'purchase', listing_id: id }] });
    expect((await cli.run(['wait'], around)).stdout).toContain('This wallet has no payments in progress');
    const paid = await paidUnits(world.chain, buyerOne.address, sellerOne.address);
    expect(paid.filter((units) => units === 20_000n)).toHaveLength(1);
  });

  test('wallets: new, address, balance; the key is shown nowhere', async () => {
    const env = { XDG_CONFIG_HOME: join(cli.folder(), 'wallets') };
    const made = await cli.run(['wallet', 'new', '--json'], { env });
    const { file, address } = made.json() as { file: string; address: string };
    const { private_key: key } = JSON.parse(await readFile(file, 'utf8')) as { private_key: string };
    expect(key).toMatch(/^0x[0-9a-f]{64}$/);
    const again = await cli.run(['wallet', 'new'], { env });
    expect([again.code, again.stderr]).toEqual([2, expect.stringContaining('already exists')]);
    const told = await cli.run(['wallet', 'address'], { env });
    expect(told.stdout.trim()).toBe(address);
    const balance = await cli.run(['wallet', 'balance', '--rpc', world.chain.url, '--json'], { env });
    expect(balance.json()).toMatchObject({ address, network: 'base', balance_usdc: 0 });
    const rich = { env: { ...env, OPENAISLE_WALLET_KEY: buyerTwo.key, OPENAISLE_RPC: world.chain.url } };
    expect((await cli.run(['wallet', 'balance', '--json'], rich)).json()).toMatchObject({ balance_usdc: 1_000 });
    await chmod(file, 0o644);
    const open = await cli.run(['wallet', 'address'], { env });
    expect(open.code).toBe(2);
    const all = [made, again, told, balance, open].map(({ stdout, stderr }) => stdout + stderr).join('');
    expect(all).not.toContain(key.slice(2));
  });
});

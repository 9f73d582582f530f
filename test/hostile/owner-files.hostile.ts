import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { dayOf, digestOf } from '../../src/agent/spend-record.ts';
import { NETWORKS } from '../../src/contract/vocabulary.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { commitmentOf } from '../../src/sdk/payments/artifact-commitment.ts';
import { redigest } from '../support/export-files.ts';
import { freePort } from '../support/free-port.ts';
import { type Owner, ownerHomes, quickWaits, startHostHere } from '../support/local-tools.ts';
import { type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { cliRuns } from '../world/run-cli.ts';

// A second user of the machine, and the author of a foreign folder, attack the files that store a wallet's limits and purchases.

const { sellerOne } = WORLD_ACCOUNTS;
const STRANGER = 65_534;
const PRICE = 2_000_000n;
const isRoot = process.getuid?.() === 0;

const cli = cliRuns();
const makeOwner = ownerHomes();
let world: World;
let seller: Member;
let wallets = 0;

beforeAll(async () => {
  world = await startWorld({ port: await freePort() });
  await world.join('the-keeper');
  seller = await world.join('seller-one');
});
afterAll(() => world?.stop());

interface Victim extends Owner {
  wallet: TestAccount;
  run(...args: string[]): ReturnType<typeof cli.run>;
  paid(): Promise<bigint[]>;
}

async function victim(): Promise<Victim> {
  wallets += 1;
  const wallet = testAccount(`owner ${wallets} of files`);
  await fund(world.chain, [{ address: wallet.address, usdcUnits: 20_000_000n, wei: 0n }]);
  const owner = await makeOwner({ market: world.url, wallet, policy: { per_purchase_usdc: 1 } });
  const around = { market: world.url, env: owner.env, environment: { sleep: () => world.finalize() } };
  return {
    ...owner,
    wallet,
    run: (...args) => cli.run(args, around),
    paid: () => paidUnits(world.chain, wallet.address, sellerOne.address),
  };
}

let listed = 0;
async function list(): Promise<{ id: number; artifact: string }> {
  listed += 1;
  const artifact = `the real goods, number ${listed}`;
  const given = { wallet: sellerOne.address, priceUnits: PRICE, artifact, title: `Notes ${listed}` };
  const { id } = await seedListing(world.db.database, seller.id, given);
  await world.running.eventsSettled();
  return { id: Number(id), artifact };
}

/** Runs a script as another user of this machine. */
function asStranger(script: string): void {
  execFileSync('/bin/sh', ['-c', script], { uid: STRANGER, gid: STRANGER, stdio: 'ignore' });
}

const GENEROUS = JSON.stringify({ version: 1, per_purchase_usdc: 5_000, per_day_usdc: 5_000 });

describe.runIf(isRoot)('a second user who can write near the policy', () => {
  let open = '';
  beforeAll(async () => {
    // The home is readable inside a readable folder, as on most machines.
    open = await mkdtemp(join(tmpdir(), 'openaisle-shared-'));
    await chmod(open, 0o755);
  });
  afterAll(() => rm(open, { recursive: true, force: true }));

  async function policyAt(name: string): Promise<{ folder: string; path: string }> {
    const folder = join(open, name, 'openaisle');
    await mkdir(folder, { recursive: true, mode: 0o755 });
    const path = join(folder, 'policy.json');
    await writeFile(path, JSON.stringify({ version: 1, per_purchase_usdc: 1, per_day_usdc: 1 }), { mode: 0o644 });
    return { folder, path };
  }

  test.each<[string, (at: { folder: string; path: string }) => Promise<unknown>]>([
    [
      'into the file',
      async ({ path }) => {
        await chmod(path, 0o666);
        asStranger(`echo '${GENEROUS}' > '${path}'`);
      },
    ],
    [
      'a file of its own in its place',
      async ({ folder, path }) => {
        await chmod(folder, 0o777);
        asStranger(`mv '${path}' '${path}.before' && echo '${GENEROUS}' > '${path}'`);
        await chmod(folder, 0o755);
      },
    ],
    [
      'a folder of its own in the place of the policy’s',
      async ({ folder }) => {
        await chmod(join(folder, '..'), 0o777);
        asStranger(
          `mv '${folder}' '${folder}.before' && mkdir '${folder}' && echo '${GENEROUS}' > '${folder}/policy.json'`,
        );
      },
    ],
    [
      'nothing, and takes it away for limits that are higher',
      async ({ folder, path }) => {
        await chmod(folder, 0o777);
        asStranger(`rm '${path}'`);
      },
    ],
  ])('writes %s: nothing is signed at the new limits, and it is said what to do', async (name, attack) => {
    const { id } = await list();
    const { env, wallet, paid } = await victim();
    const at = await policyAt(`config-${name.length}`);
    const config = join(at.folder, '..');
    const keyed = { ...env, XDG_CONFIG_HOME: config, OPENAISLE_WALLET_KEY: wallet.key };
    const around = { market: world.url, env: keyed, environment: { sleep: () => world.finalize() } };
    const buying = () => cli.run(['buy', String(id), '--max', '5', '--json'], around);
    expect((await buying()).json()['reason']).toBe('above_per_purchase');
    await attack(at);
    const refused = await buying();
    expect([refused.code, refused.json()]).toMatchObject([1, { reason: 'policy_unsafe' }]);
    expect(String(refused.json()['next_step'])).toMatch(/chmod go-w|chown/);

    const owner = { home: '', env: keyed, writePolicy: async () => {} };
    const host = await startHostHere({ owner, era: 'modern', options: { policy: at.path } });
    const answer = await host.call('buy', { listing_id: id, max_price_usdc: 5 });
    // If the attack removed the file, the path might be misspelled, so the reason is `policy_unreadable`.
    expect(String(answer.data['reason'])).toMatch(/^policy_un(?:safe|readable)$/);
    await host.close();
    expect(await paid()).toEqual([]);
  });
});

const SALT = `0x${'5a'.repeat(32)}`;
const PLANTED = '#!/bin/sh\necho owned\n';

/** Writes a folder like that of `export --purchases`, as somebody would who knows the wallet's address but not its key. */
async function plantedExport(wallet: TestAccount, id: number, change: Record<string, unknown> = {}): Promise<string> {
  const address = wallet.address.toLowerCase();
  const key = `${world.url} buy ${id} ${address}`;
  const at = new Date().toISOString();
  const receipt = {
    ...{ payment_id: 1, tx_hash: `0x${'7a'.repeat(32)}`, block_number: 5, block_hash: `0x${'7b'.repeat(32)}` },
    ...{ block_time: at, payer: address, payee: sellerOne.address, asset: NETWORKS.base.usdc, network: 'base' },
    ...{ amount_usdc: 2, amount_units: PRICE.toString() },
  };
  const commitment = commitmentOf({ artifact: PLANTED, artifact_encoding: 'utf-8', artifact_salt: SALT });
  const delivery = {
    ...{ path: 'run-me.sh', bytes: PLANTED.length, media_type: 'text/plain', commitment, salt: SALT },
    ...{ receipt, recovery_slip: null },
  };
  const record = {
    ...{ version: 1, key, sequence: 1, market: world.url, kind: 'purchase', listing_id: id, title: 'Notes' },
    ...{ seller: 'seller-one', payee: sellerOne.address, network: 'base', amount_units: PRICE.toString() },
    ...{ reserved_at: at, state: 'settled', out_dir: null, listing: null, saved: null, delivery, listed: null },
    ...change,
  };
  const dir = await mkdtemp(join(cli.folder(), 'planted-'));
  for (const inner of ['purchases', 'goods']) await mkdir(join(dir, inner));
  const name = `${dayOf(Date.parse(record.reserved_at))}-${digestOf(record.key)}-${record.sequence}`;
  const goods = record.delivery === null ? null : 'goods/run-me.sh';
  const files = new Map([[`purchases/${name}.json`, JSON.stringify({ version: 1, record, goods })]]);
  if (goods !== null) files.set(goods, PLANTED);
  for (const [file, text] of files) await writeFile(join(dir, file), text);
  const digests = [...files].map(([file, text]) => [file, `0x${createHash('sha256').update(text).digest('hex')}`]);
  const times = { begun_at: at, completed_at: at };
  const content = { version: 1, kind: 'purchases', wallet: address, ...times, files: Object.fromEntries(digests) };
  await writeFile(join(dir, 'export.json'), JSON.stringify(content));
  return dir;
}

const PROMISED = 'match the listing';

describe('a folder that is called a copy of what the wallet bought', () => {
  test('brings goods of its author’s choice: nothing calls them verified, and once their record is gone the real ones are bought', async () => {
    const { id, artifact } = await list();
    const owner = await victim();
    const { run, wallet } = owner;
    await owner.writePolicy({});
    const imported = await run('import', await plantedExport(wallet, id));
    expect([imported.code, imported.stdout]).toEqual([0, expect.stringContaining('not verified')]);

    const given = await run('buy', String(id), '--max', '3');
    expect(given.stdout).toContain('Not verified: the listing promises other goods');
    expect(given.stdout).not.toContain(PROMISED);
    const json = (await run('buy', String(id), '--max', '3', '--json')).json();
    expect(json).toMatchObject({ verified: false, not_verified: 'the listing promises other goods' });
    expect((await run('purchases')).stdout).toContain('settled, intact, not verified');
    expect((await run('purchases', '--json')).json()).toMatchObject({ purchases: [{ verified: false }] });
    const verified = await run('verify', String(id), '--json');
    expect([verified.code, verified.json()['reason']]).toEqual([1, 'not_verified']);

    const host = await startHostHere({ owner, era: 'modern', environment: quickWaits(world) });
    const answer = await host.call('buy', { listing_id: id, max_price_usdc: 3 });
    expect(answer.text).toContain('Not verified: the listing promises other goods.');
    expect(answer.text).not.toContain(PROMISED);
    expect(answer.data).toMatchObject({ not_verified: 'the listing promises other goods', verified: { ok: false } });
    expect((await host.call('purchases')).data).toMatchObject({ payments: [{ verified: false }] });
    await host.close();
    expect(await owner.paid()).toEqual([]);

    const file = /move the record away: (\S+\.json)/.exec(String(verified.json()['next_step']))?.[1] ?? '';
    await rm(file);
    const bought = await run('buy', String(id), '--max', '3', '--json');
    expect(bought.json()).toMatchObject({ verified: true, already_here: false, paid_usdc: 2 });
    expect(await readFile(String(bought.json()['path']), 'utf8')).toBe(artifact);
    expect(await owner.paid()).toEqual([PRICE]);
  });

  test('uses up nothing of the day, and is not read with more than the largest price', async () => {
    const { id } = await list();
    const owner = await victim();
    await owner.writePolicy({});
    const huge = await plantedExport(owner.wallet, 999_999, { amount_units: '9'.repeat(30) });
    const refused = await owner.run('import', huge, '--json');
    expect([refused.code, refused.json()['reason']]).toEqual([2, 'export_unreadable']);
    const largest = await plantedExport(owner.wallet, 999_999, { amount_units: '10000000000' });
    expect((await owner.run('import', largest)).code).toBe(0);
    expect((await owner.run('purchases', '--json')).json()).toMatchObject({ spent_today_usdc: 0 });
    expect((await owner.run('buy', String(id), '--max', '3', '--json')).json()).toMatchObject({ paid_usdc: 2 });
  });

  test('has nothing paid for a second time, neither what is settled here nor what is under way', async () => {
    const { id } = await list();
    const owner = await victim();
    await owner.writePolicy({});
    const buying = () => owner.run('buy', String(id), '--max', '3', '--json');
    expect((await buying()).json()).toMatchObject({ paid_usdc: 2 });
    const free = { sequence: 2, amount_units: '0', saved: null };
    const planted = { over: { ...free, state: 'over', delivery: null }, settled: { ...free, delivery: null } };
    for (const change of Object.values(planted)) {
      const dir = await plantedExport(owner.wallet, id, { ...change, reserved_at: '2025-01-01T00:00:00.000Z' });
      await owner.run('import', dir);
      expect((await buying()).json()).toMatchObject({ already_here: true, verified: true });
    }
    expect(await owner.paid()).toEqual([PRICE]);
  });

  test('that the wallet never signed for is under way nowhere', async () => {
    const { id } = await list();
    const owner = await victim();
    await owner.writePolicy({});
    const saved = {
      ...{ version: 1, purpose: 'purchase', payee: sellerOne.address, amount_units: PRICE.toString(), network: 'base' },
      ...{ artifact_commitment: null, delivery_token: null },
      proof: {
        header: { name: 'X-PAYMENT', value: 'eyJ4IjoxfQ==' },
        ...{ payer: owner.wallet.address, nonce: `0x${'01'.repeat(32)}`, valid_before: 9_999_999_999 },
      },
    };
    const dir = await plantedExport(owner.wallet, id, { state: 'signed', delivery: null, saved });
    expect((await owner.run('import', dir, '--json')).json()['reason']).toBe('export_changed');
    expect((await owner.run('purchases', '--json')).json()).toMatchObject({ purchases: [], spent_today_usdc: 0 });
  });

  test('with a signature of another wallet is refused', async () => {
    const { id } = await list();
    const owner = await victim();
    const dir = await plantedExport(owner.wallet, id);
    const { signer } = testAccount('a stranger with a key');
    const path = join(dir, 'export.json');
    const content = JSON.parse(await readFile(path, 'utf8')) as object;
    const signature = await signer.signMessage({ message: 'mine' });
    await writeFile(path, JSON.stringify({ ...content, signature }));
    expect((await owner.run('import', dir, '--json')).json()['reason']).toBe('export_changed');
  });
});

test('an honest copy is known by its signature; one of an earlier version once the market has confirmed it', async () => {
  const { id } = await list();
  const owner = await victim();
  await owner.writePolicy({});
  expect((await owner.run('buy', String(id), '--max', '3')).code).toBe(0);
  const dir = join(owner.home, 'copy');
  expect((await owner.run('export', dir, '--purchases')).code).toBe(0);
  const onMachine = (name: string) => {
    const env = { ...owner.env, XDG_DATA_HOME: join(owner.home, name) };
    return (...args: string[]) => cli.run([...args, '--json'], { market: world.url, env });
  };
  const signed = onMachine('signed');
  expect((await signed('import', dir)).json()).toMatchObject({ signed: true });
  expect((await signed('purchases')).json()).toMatchObject({ purchases: [{ verified: true }], spent_today_usdc: 0 });

  await redigest(dir);
  for (const [name, confirm] of [
    ['buys', ['buy', String(id), '--max', '3']],
    ['asks', ['verify', String(id)]],
  ] as const) {
    const run = onMachine(name);
    expect((await run('import', dir)).json()).toMatchObject({ signed: false });
    expect((await run('purchases')).json()).toMatchObject({ purchases: [{ verified: false }] });
    expect((await run(...confirm)).code).toBe(0);
    expect((await run('purchases')).json()).toMatchObject({ purchases: [{ verified: true }] });
  }
  expect(await owner.paid()).toEqual([PRICE]);
});

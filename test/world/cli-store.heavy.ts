import { chmod, cp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { emptyIdentity, printIdentity } from '../../src/cli/identity.ts';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { redigest, rewrite } from '../support/export-files.ts';
import { freePort } from '../support/free-port.ts';
import { type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { removeListing, seedListing, seedPaidPurchase, withdrawListing } from '../support/seed.ts';
import { type CliOptions, type CliRun, cliRuns } from './run-cli.ts';

const { sellerOne, treasury } = WORLD_ACCOUNTS;
const FEE = 1_000_000n;
const GENEROUS = JSON.stringify({ version: 1, per_purchase_usdc: 5, per_day_usdc: 100 });

/** A store at one market, and a second market that never had it. */
describe('a store leaves a market and comes to another', () => {
  const cli = cliRuns();
  let old: World;
  let fresh: World;
  let seller: Member;
  let made = 0;

  beforeAll(async () => {
    [old, fresh] = [await startWorld(), await startWorld()];
    for (const world of [old, fresh]) {
      await identify(world, await world.join('keeper'));
      const member = await world.join('ink');
      await identify(world, member);
      if (world === old) seller = member;
    }
  });
  afterAll(async () => {
    await old?.stop();
    await fresh?.stop();
  });

  async function identify(world: World, { id, handle, key }: Member): Promise<void> {
    const file = cli.fileOf(world.url, handle);
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const content = { ...emptyIdentity(world.url, handle), merchant_id: Number(id), merchant_key: key };
    await writeFile(file, printIdentity(content), { mode: 0o600 });
  }

  const at = (world: World, args: readonly string[], more: CliOptions = {}): Promise<CliRun> =>
    cli.run([...args, '--handle', 'ink'], {
      market: world.url,
      environment: { sleep: () => world.finalize() },
      ...more,
    });
  const dirNamed = (name: string): string => join(cli.folder(), `${name}-${++made}`);
  const paidIn = (world: World, { address }: TestAccount): Promise<bigint[]> =>
    paidUnits(world.chain, address, treasury.address);

  async function walletIn(world: World, name: string): Promise<{ wallet: TestAccount; env: Record<string, string> }> {
    const wallet = testAccount(name);
    await fund(world.chain, [{ address: wallet.address, usdcUnits: 20_000_000n, wei: 0n }]);
    return { wallet, env: { OPENAISLE_WALLET_KEY: wallet.key } };
  }

  async function seed(given: Parameters<typeof seedListing>[2]): Promise<bigint> {
    const { id } = await seedListing(old.db.database, seller.id, { wallet: sellerOne.address, ...given });
    return id;
  }

  /** A whole export of what the old market has, in a folder of its own. */
  async function exported(): Promise<string> {
    const dir = dirNamed('store');
    const { code, stderr } = await at(old, ['export', dir]);
    expect(code, stderr).toBe(0);
    return dir;
  }

  test('its merchant alone reads a listing back, and no cache keeps it', async () => {
    const id = await seed({ artifact: 'read by one alone' });
    const path = `/api/me/listing/${id}`;
    const own = await old.ask('GET', path, { key: seller.key });
    expect(own.body).toMatchObject({ artifact: 'read by one alone' });
    expect(own.headers.get('cache-control')).toBe('private, no-store');
    const other = await old.join('other');
    const keeper = await readKey(old, 'keeper');
    for (const key of [other.key, keeper]) expect((await old.ask('GET', path, { key })).status).toBe(404);
    expect((await old.ask('GET', path)).status).toBe(401);
  });

  async function readKey(world: World, handle: string): Promise<string> {
    const { merchant_key: key } = JSON.parse(await readFile(cli.fileOf(world.url, handle), 'utf8')) as {
      merchant_key: string;
    };
    return key;
  }

  test('export writes all states, goods, salts and sales, for its owner alone, and no key; a second run reads what is new', async () => {
    const live = await seed({ title: 'Maps', artifact: 'goods of maps', license: 'MIT', tags: ['a', 'b'] });
    const bytes = await seed({ title: 'Bytes', artifact: Buffer.from([0, 255, 200]) });
    const gone = await seed({ title: 'Old', artifact: 'withdrawn goods' });
    const off = await seed({ title: 'Off', artifact: 'removed goods' });
    await seedPaidPurchase(old.db.database, live);
    await withdrawListing(old.db.database, gone);
    await removeListing(old.db.database, off);
    await old.running.eventsSettled();
    const dir = dirNamed('store');
    const first = await at(old, ['export', dir, '--json']);
    expect([first.code, first.stderr]).toEqual([0, '']);
    const { listings, read, sales } = first.json() as Record<string, number>;
    expect(first.json()).toMatchObject({ status: 'ok', kind: 'store', handle: 'ink', dir, sales: 1 });
    expect(read).toBe(listings);
    expect(sales).toBe(1);
    const fileOf = async (id: bigint) => JSON.parse(await readFile(join(dir, 'listings', `${id}.json`), 'utf8'));
    for (const [id, goods] of [
      [live, 'goods of maps'],
      [gone, 'withdrawn goods'],
      [off, 'removed goods'],
    ] as const)
      expect(await readFile(join(dir, (await fileOf(id)).goods.file), 'utf8')).toBe(goods);
    expect(await readFile(join(dir, (await fileOf(bytes)).goods.file))).toEqual(Buffer.from([0, 255, 200]));
    expect((await fileOf(gone)).listing.state).toBe('withdrawn');
    for (const name of ['.', 'listings', 'goods']) expect((await stat(join(dir, name))).mode & 0o777).toBe(0o700);
    for (const name of await readdir(dir, { recursive: true })) {
      const found = await stat(join(dir, name));
      if (!found.isFile()) continue;
      expect(found.mode & 0o777, name).toBe(0o600);
      expect(await readFile(join(dir, name), 'utf8')).not.toContain(seller.key);
    }
    const later = await seed({ title: 'Later' });
    await old.running.eventsSettled();
    const second = await at(old, ['export', dir, '--json']);
    expect(second.json()).toMatchObject({ listings: Number(listings) + 1, read: 1 });
    expect(await fileOf(later)).toMatchObject({ listing: { title: 'Later' } });
  });

  test('stopped in the middle it says that it is not whole, and the same command completes it', async () => {
    const dir = dirNamed('store');
    let calls = 0;
    const cut = await at(old, ['export', dir, '--json'], {
      environment: {
        fetch: async (url, init) => {
          calls += 1;
          if (calls === 4) throw new Error('the network is gone');
          return await fetch(url, init);
        },
      },
    });
    expect(cut.code).not.toBe(0);
    const early = await at(fresh, ['import', dir, '--dry-run', '--json']);
    expect([early.code, early.json()['reason']]).toEqual([2, 'not_whole']);
    const whole = (await at(old, ['export', dir, '--json'])).json() as Record<string, number>;
    expect(whole['read']).toBeLessThan(Number(whole['listings']));
    expect((await at(fresh, ['import', dir, '--dry-run', '--json'])).code).toBe(0);
    const elsewhere = await at(fresh, ['export', dir, '--json']);
    expect([elsewhere.code, elsewhere.json()['reason']]).toEqual([2, 'other_export']);
  });

  test('a file that was changed is refused, whatever it is, as is a link and a folder of something else', async () => {
    await seed({ title: 'To be spoilt', artifact: 'whole goods' });
    const dir = await exported();
    const refusalOf = async (spoil: (copy: string) => Promise<unknown>): Promise<unknown> => {
      const copy = dirNamed('copy');
      await cp(dir, copy, { recursive: true });
      await spoil(copy);
      const run = await at(fresh, ['import', copy, '--yes', '--json']);
      expect(run.code).toBe(2);
      return run.json()['reason'];
    };
    const [goods = ''] = (await readdir(join(dir, 'goods'))).filter((name) => name.includes('spoilt'));
    const [id = ''] = goods.split('-');
    const listing = join('listings', `${id}.json`);
    expect(await refusalOf((copy) => writeFile(join(copy, 'goods', goods), 'other goods'))).toBe('export_changed');
    expect(await refusalOf((copy) => rm(join(copy, listing)))).toBe('export_changed');
    expect(
      await refusalOf((copy) => rewrite(join(copy, listing), (text) => text.replace('_usdc": 2.5', '_usdc": 9'))),
    ).toBe('export_changed');
    // Who changes the digest too still meets the commitment that the listing published.
    expect(
      await refusalOf(async (copy) => {
        await writeFile(join(copy, 'goods', goods), 'other goods');
        await redigest(copy);
      }),
    ).toBe('export_changed');
    const outside = join(cli.folder(), 'outside.txt');
    await writeFile(outside, 'whole goods');
    expect(
      await refusalOf(async (copy) => {
        await rm(join(copy, 'goods', goods));
        await symlink(outside, join(copy, 'goods', goods));
      }),
    ).toBe('export_unreadable');
    for (const name of ['../outside.txt', 'goods/../../outside.txt', '/etc/passwd', 'goods/.hidden'])
      expect(
        await refusalOf((copy) => rewrite(join(copy, 'export.json'), (text) => text.replace(`goods/${goods}`, name))),
      ).toBe('export_unreadable');
    const other = dirNamed('other');
    await mkdir(other);
    await writeFile(join(other, 'letter.txt'), 'mine');
    await chmod(other, 0o755);
    const mistaken = await at(old, ['export', other, '--json']);
    expect([mistaken.code, mistaken.json()['reason']]).toEqual([2, 'not_an_export']);
    expect((await stat(other)).mode & 0o777).toBe(0o755);
  });

  test('import says what it will cost, pays once for each, keeps the line of versions, and lists nothing twice', async () => {
    const dir = await exportOfVersions();
    const { wallet, env } = await walletIn(fresh, 'the wallet of the import');
    const dry = await at(fresh, ['import', dir, '--dry-run', '--json'], { env });
    const planned = dry.json()['listings'] as { act: string }[];
    const toList = planned.filter(({ act }) => act === 'list').length;
    expect(dry.json()).toMatchObject({ dry_run: true, would_cost_usdc_at_most: toList });
    const unasked = await at(fresh, ['import', dir, '--json'], { env });
    expect([unasked.code, unasked.json()['reason']]).toEqual([1, 'needs_person']);
    expect(await paidIn(fresh, wallet)).toEqual([]);
    const done = await at(fresh, ['import', dir, '--yes', '--json'], { env });
    expect(done.code, done.stdout).toBe(0);
    expect(done.json()).toMatchObject({ status: 'ok', paid_usdc: toList });
    expect(await paidIn(fresh, wallet)).toEqual(Array.from({ length: toList }, () => FEE));
    const rows = done.json()['listings'] as { title: string; outcome: string; listing_id?: number }[];
    const [first, second] = ['Line, first', 'Line, second'].map((title) => rows.find((row) => row.title === title));
    const shown = (await cli.run(['show', String(second?.listing_id), '--json'], { market: fresh.url })).json();
    expect(shown['listing']).toMatchObject({ supersedes: first?.listing_id, merchant: 'ink', state: 'live' });
    const bytes = rows.find((row) => row.title === 'Bytes');
    const back = await fresh.ask('GET', `/api/me/listing/${bytes?.listing_id}`, { key: await readKey(fresh, 'ink') });
    expect(back.body).toMatchObject({ artifact: Buffer.from([0, 255, 200]).toString('base64') });
    // Again, on this machine and on one whose book knows nothing.
    for (const home of [undefined, join(cli.folder(), 'another-machine')]) {
      const again = await cli.run(['import', dir, '--yes', '--json', '--file', cli.fileOf(fresh.url, 'ink')], {
        market: fresh.url,
        env,
        ...(home === undefined ? {} : { home }),
      });
      expect(again.json()).toMatchObject({ status: 'ok', paid_usdc: 0 });
      expect(new Set((again.json()['listings'] as { outcome: string }[]).map(({ outcome }) => outcome))).toEqual(
        new Set(['there', 'left_out']),
      );
    }
    expect(await paidIn(fresh, wallet)).toHaveLength(toList);
    expect((await at(fresh, ['import', dir])).stdout).toMatch(/there already/);
  });

  async function exportOfVersions(): Promise<string> {
    const first = await seed({ title: 'Line, first', artifact: 'one', priceUnits: 0n });
    const key = seller.key;
    const { wallet, env } = await walletIn(old, 'the wallet of the seller');
    const file = join(cli.folder(), 'second.txt');
    await writeFile(file, 'two');
    const words = [
      '--title',
      'Line, second',
      '--price',
      '0.5',
      '--description',
      'Newer.',
      '--supersedes',
      String(first),
    ];
    const sold = await at(old, ['sell', file, ...words, '--json'], { env });
    expect([sold.code, sold.stderr]).toEqual([0, '']);
    expect(await paidIn(old, wallet)).toEqual([FEE]);
    const own = await old.ask('GET', `/api/me/listing/${sold.json()['listing_id']}`, { key });
    expect(own.body).toMatchObject({ recovery_slip: expect.stringMatching(/^rs1_/), fee: { amount_usdc: 1 } });
    return await exported();
  }

  test('a market that lost everything gets the store back, though the book says that it was listed there', async () => {
    await seed({ title: 'Listed twice in its life' });
    const dir = await exported();
    const port = await freePort();
    for (const round of [1, 2]) {
      const world = await startWorld({ port });
      try {
        await world.join('keeper');
        await identify(world, await world.join('ink'));
        const { wallet, env } = await walletIn(world, 'the wallet of two lives');
        await writeFile(join(cli.folder(), 'config', 'openaisle', 'policy.json'), GENEROUS);
        const done = await at(world, ['import', dir, '--yes', '--json'], { env });
        expect(done.code, `${round}: ${done.stdout}`).toBe(0);
        const rows = done.json()['listings'] as { outcome: string }[];
        const listed = rows.filter(({ outcome }) => outcome === 'listed').length;
        expect(listed).toBeGreaterThan(0);
        expect(await paidIn(world, wallet)).toHaveLength(listed);
      } finally {
        await world.stop();
      }
    }
    await rm(join(cli.folder(), 'config', 'openaisle', 'policy.json'));
  });

  test('killed again and again, the same command goes on: one listing and one fee for each', async () => {
    const store = await startWorld();
    const stop = new AbortController();
    let mining = Promise.resolve();
    let kills = 0;
    try {
      await store.join('keeper');
      const member = await store.join('ink');
      for (const name of ['one', 'two'])
        await seedListing(store.db.database, member.id, {
          priceUnits: 0n,
          title: `Killed ${name}`,
          artifact: `killed ${name}`,
        });
      await identify(store, member);
      await store.running.eventsSettled();
      const dir = dirNamed('killed');
      expect((await at(store, ['export', dir])).code).toBe(0);
      const { wallet, env } = await walletIn(fresh, 'the wallet of killed imports');
      mining = (async () => {
        while (!stop.signal.aborted) await fresh.finalize();
      })();
      const args = ['import', dir, '--yes', '--handle', 'ink'];
      const around = { market: fresh.url, env };
      for (const moment of [
        /will be paid/,
        /signed, and/,
        /handed in|is seen/,
        /1 of 2: /,
        /signed, and/,
        /handed in|is seen/,
      ]) {
        const { child, ended } = cli.start(args, around);
        let told = '';
        child.stderr?.on('data', (text: Buffer) => {
          told += String(text);
          if (moment.test(told)) child.kill('SIGKILL');
        });
        const { code } = await ended;
        if (code === null) kills += 1;
        else expect(code, told).toBe(0);
      }
      expect(kills).toBeGreaterThan(2);
      const last = await cli.run([...args, '--json'], around);
      expect(last.code, last.stdout).toBe(0);
      expect(await paidIn(fresh, wallet)).toEqual([FEE, FEE]);
      const listings = JSON.stringify((await fresh.ask('GET', '/api/store/ink?limit=50')).body);
      for (const name of ['one', 'two']) expect(listings.split(`"Killed ${name}"`)).toHaveLength(2);
    } finally {
      stop.abort();
      await mining;
      await store.stop();
    }
  });

  test('what the market refuses is told, and the rest is listed', async () => {
    const dir = dirNamed('store');
    const other = await fresh.join('quill');
    const artifact = 'a long text that another merchant lists there already '.repeat(8);
    await seed({ title: 'Same as another', artifact });
    await seed({ title: 'Unlike any other', artifact: 'unlike any other goods' });
    await old.running.eventsSettled();
    await at(old, ['export', dir]);
    const { env } = await walletIn(fresh, 'the wallet of the import');
    const goods = {
      title: 'Same as another',
      description: 'd',
      preview: '',
      artifact,
      price_usdc: 0,
      seller_wallet: sellerOne.address,
    };
    const { env: theirs } = await walletIn(fresh, 'the wallet of another');
    const file = join(cli.folder(), 'same.txt');
    await writeFile(file, artifact);
    const sold = await cli.run(
      ['sell', file, '--title', goods.title, '--price', '0', '--description', 'd', '--key-stdin', '--json'],
      { market: fresh.url, env: theirs, input: `${other.key}\n`, environment: { sleep: () => fresh.finalize() } },
    );
    expect(sold.code, sold.stdout).toBe(0);
    const done = await at(fresh, ['import', dir, '--yes', '--json'], { env });
    expect([done.code, done.json()['reason']]).toEqual([1, 'not_all_listed']);
    expect(String(done.json()['detail'])).toMatch(/Same as another.*refused: duplicate_listing/);
    expect(String(done.json()['detail'])).toMatch(/Unlike any other.*listed: \d+/);
  });
});

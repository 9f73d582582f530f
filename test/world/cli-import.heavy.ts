import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { freePort } from '../support/free-port.ts';
import { type Member, startWorld, type World } from '../support/market-world.ts';
import { removeListing, seedListing, withdrawListing } from '../support/seed.ts';
import { runOnTerminal } from './run-cli.ts';
import { storeStage } from './store-stage.ts';

const { sellerOne } = WORLD_ACCOUNTS;
const FEE = 1_000_000n;
const GENEROUS = JSON.stringify({ version: 1, per_purchase_usdc: 5, per_day_usdc: 100 });

describe('an export is imported', () => {
  const stage = storeStage();
  const { cli, at, dirNamed, identify, seed, exported, keyOf, walletIn, paidIn } = stage;
  let old: World;
  let fresh: World;
  let seller: Member;
  beforeAll(() => {
    [old, fresh, seller] = [stage.old(), stage.fresh(), stage.seller()];
  });

  test('a person who is asked and says no pays and lists nothing', async () => {
    await seed({ title: 'Not agreed to' });
    const dir = await exported();
    const { wallet, env } = await walletIn(fresh, 'the wallet of a person who says no');
    const args = ['import', dir, '--file', cli.fileOf(fresh.url, 'ink')];
    const around = { PATH: process.env['PATH'] ?? '', HOME: cli.folder(), ...env };
    const asked = await runOnTerminal(args, [['(yes/no)', 'no']], around);
    expect(asked.code).toBe(1);
    expect(asked.screen).toMatch(/Fees: at most \d+ USDC/);
    expect(asked.screen).toContain(`buyers will pay ${sellerOne.signer.address}`);
    expect(asked.screen).toContain('not_confirmed');
    expect(await paidIn(fresh, wallet)).toEqual([]);
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
    const keywords = ['late payments', 'csv'];
    expect(shown['listing']).toMatchObject({ supersedes: first?.listing_id, merchant: 'ink', state: 'live', keywords });
    const bytes = rows.find((row) => row.title === 'Picture');
    const back = await fresh.ask('GET', `/api/me/listing/${bytes?.listing_id}`, { key: await keyOf(fresh, 'ink') });
    expect(back.body).toMatchObject({ artifact: Buffer.from([0, 255, 201]).toString('base64') });
    // Listings that their merchant withdrew or the maintainer removed are not listed again.
    await withdrawListing(fresh.db.database, BigInt(second?.listing_id ?? 0));
    await removeListing(fresh.db.database, BigInt(bytes?.listing_id ?? 0));
    // Import again, first on this machine, then on one with an empty book.
    for (const home of [undefined, join(cli.folder(), 'another-machine')]) {
      const again = await cli.run(['import', dir, '--yes', '--json', '--file', cli.fileOf(fresh.url, 'ink')], {
        market: fresh.url,
        env,
        ...(home === undefined ? {} : { home }),
      });
      expect(again.json()).toMatchObject({ status: 'ok', paid_usdc: 0 });
      const outcomes = (again.json()['listings'] as { outcome: string }[]).map(({ outcome }) => outcome);
      expect(outcomes.filter((outcome) => outcome === 'there')).toHaveLength(toList);
      expect(outcomes).not.toContain('listed');
    }
    expect(await paidIn(fresh, wallet)).toHaveLength(toList);
    expect((await at(fresh, ['import', dir])).stdout).toMatch(/already there/);
  });

  async function exportOfVersions(): Promise<string> {
    await seed({ title: 'Picture', artifact: Buffer.from([0, 255, 201]) });
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
      ...['--supersedes', String(first), '--keyword', 'late payments', '--keyword', 'csv'],
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
        /Fees: at most/,
        /signed and saved/,
        /submitted|transfer seen/,
        /1 of 2: /,
        /signed and saved/,
        /submitted|transfer seen/,
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
    expect(done.json()['listings']).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ title: 'Same as another', outcome: 'refused', reason: 'duplicate_listing' }),
        expect.objectContaining({ title: 'Unlike any other', outcome: 'listed', listing_id: expect.any(Number) }),
      ]),
    );
    expect(done.stderr).toMatch(/“Same as another” {2}refused: duplicate_listing/);
  });
});

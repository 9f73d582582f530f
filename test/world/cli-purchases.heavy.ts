import { cp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestAccount, testAccount, WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { fund } from '../../src/local/chain/transactions.ts';
import { redigest, rewrite } from '../support/export-files.ts';
import { freePort } from '../support/free-port.ts';
import { type Member, paidUnits, startWorld, type World } from '../support/market-world.ts';
import { seedListing } from '../support/seed.ts';
import { type CliOptions, type CliRun, cliRuns } from './run-cli.ts';

const { sellerOne } = WORLD_ACCOUNTS;

describe('what a wallet bought goes to another machine', () => {
  const cli = cliRuns();
  let world: World;
  let seller: Member;
  let wallet: TestAccount;
  let dir: string;
  let ids: { kept: number; lost: number; open: number };

  beforeAll(async () => {
    world = await startWorld({ port: await freePort() });
    await world.join('the-keeper');
    seller = await world.join('seller-one');
    wallet = testAccount('a buyer who moves');
    await fund(world.chain, [{ address: wallet.address, usdcUnits: 10_000_000n, wei: 0n }]);
    ids = {
      kept: await list(1_000_000n, 'kept goods'),
      lost: await list(1_100_000n, 'lost goods'),
      open: await list(1_200_000n, 'late goods'),
    };
    for (const id of [ids.kept, ids.lost]) await paidFor(id);
    const ending = new AbortController();
    const cut = await runOn('old', ['buy', String(ids.open), '--max', '2'], {
      interruption: ending.signal,
      environment: {
        sleep: async (_, signal) => {
          ending.abort();
          signal?.throwIfAborted();
        },
      },
    });
    expect(cut.code).toBe(3);
    await rm((await bought('old')).find(({ listing_id: id }) => id === ids.lost)?.path ?? '');
    dir = join(cli.folder(), 'bought');
    const done = await runOn('old', ['export', dir, '--purchases', '--json']);
    expect(done.json()).toMatchObject({ status: 'ok', kind: 'purchases', records: 3, goods: 1, missing: 1 });
  });
  afterAll(() => world?.stop());

  /** Runs a command on one of several machines that share only the wallet's key. */
  const runOn = (machine: string, args: readonly string[], more: CliOptions = {}): Promise<CliRun> =>
    cli.run(args, {
      market: world.url,
      env: { OPENAISLE_WALLET_KEY: wallet.key, XDG_DATA_HOME: join(cli.folder(), machine) },
      environment: { sleep: () => world.finalize() },
      ...more,
    });
  const paid = (): Promise<bigint[]> => paidUnits(world.chain, wallet.address, sellerOne.address);

  async function list(priceUnits: bigint, artifact: string): Promise<number> {
    const { id } = await seedListing(world.db.database, seller.id, { wallet: sellerOne.address, priceUnits, artifact });
    await world.running.eventsSettled();
    return Number(id);
  }

  async function paidFor(id: number): Promise<void> {
    const run = await runOn('old', ['buy', String(id), '--max', '2', '--json']);
    expect(run.code, run.stdout).toBe(0);
  }

  async function bought(machine: string): Promise<{ listing_id: number; path: string; goods: string }[]> {
    return (await runOn(machine, ['purchases', '--json'])).json()['purchases'] as never;
  }

  test('the export is for its owner alone, and the key of the wallet is not in it', async () => {
    for (const name of ['.', ...(await readdir(dir, { recursive: true }))]) {
      const found = await stat(join(dir, name));
      expect(found.mode & 0o777, name).toBe(found.isFile() ? 0o600 : 0o700);
      if (found.isFile()) expect(await readFile(join(dir, name), 'utf8')).not.toContain(wallet.key.slice(2));
    }
  });

  test('import restores the book: what was bought is there, what was lost is collected, what is open goes on; nothing is paid twice', async () => {
    const before = await paid();
    const dry = await runOn('new', ['import', dir, '--dry-run', '--json']);
    expect(dry.json()).toMatchObject({ dry_run: true, restored: { length: 3 } });
    expect(await bought('new')).toEqual([]);
    const done = await runOn('new', ['import', dir, '--json']);
    expect([done.code, done.json()]).toMatchObject([0, { restored: { length: 3 }, kept: 0 }]);
    expect((await runOn('new', ['import', dir, '--json'])).json()).toMatchObject({ restored: [], kept: 3 });

    const here = await runOn('new', ['buy', String(ids.kept), '--max', '2', '--json']);
    expect(here.json()).toMatchObject({ already_here: true, receipt: { payer: wallet.signer.address } });
    expect(await readFile(String(here.json()['path']), 'utf8')).toBe('kept goods');
    expect(String(here.json()['path'])).toContain(join(cli.folder(), 'new'));
    const verified = await runOn('new', ['verify', String(ids.kept), '--rpc', world.chain.url, '--json']);
    expect(verified.json()).toMatchObject({ ok: true, goods: 'intact' });
    const collected = await runOn('new', ['buy', String(ids.lost), '--max', '2', '--json']);
    expect(await readFile(String(collected.json()['path']), 'utf8')).toBe('lost goods');
    expect(await paid()).toEqual(before);
    const went = await runOn('new', ['wait', '--json']);
    expect(went.json()).toMatchObject({ status: 'ok', finished: [{ listing_id: ids.open }] });
    expect((await paid()).toSorted()).toEqual([1_000_000n, 1_100_000n, 1_200_000n]);
    // Pretend that the first run stopped between two records. The second run restores the missing record and keeps the existing ones.
    const spends = join(cli.folder(), 'new', 'openaisle', wallet.address.toLowerCase(), 'spends');
    const [one = ''] = (await readdir(spends)).filter((name) => name.endsWith('.json'));
    await rm(join(spends, one));
    expect((await runOn('new', ['import', dir, '--json'])).json()).toMatchObject({ restored: { length: 1 }, kept: 2 });
  });

  test('no name in it leads out of the folder of goods, and what is not of this wallet is refused', async () => {
    const spoilt = async (spoil: (copy: string, record: string, goods: string) => Promise<unknown>) => {
      const copy = join(cli.folder(), `copy-${(await readdir(cli.folder())).length}`);
      await cp(dir, copy, { recursive: true });
      const [goods = ''] = await readdir(join(copy, 'goods'));
      const names = await readdir(join(copy, 'purchases'));
      const texts = await Promise.all(names.map((name) => readFile(join(copy, 'purchases', name), 'utf8')));
      const record = names[texts.findIndex((text) => text.includes(goods))] ?? '';
      await spoil(copy, join(copy, 'purchases', record), goods);
      await redigest(copy);
      return (machine: string, more: CliOptions = {}) => runOn(machine, ['import', copy, '--json'], more);
    };
    const hostile = await spoilt((_, record) =>
      rewrite(record, (text) =>
        text
          .replace(/"path": ".*"/, '"path": "../../../../evil/.hidden"')
          .replace('"out_dir": null', '"out_dir": "/evil"'),
      ),
    );
    expect((await hostile('hostile')).code).toBe(0);
    const [kept] = (await bought('hostile')).filter(({ listing_id: id }) => id === ids.kept);
    expect(kept).toMatchObject({ goods: 'intact' });
    expect(kept?.path).toMatch(
      new RegExp(`^${join(cli.folder(), 'hostile', 'openaisle', 'goods')}/[^/]+/${ids.kept}-[A-Za-z0-9.-]+$`),
    );
    const reasonOf = async (spoil: Parameters<typeof spoilt>[0], more: CliOptions = {}) => {
      const run = await (await spoilt(spoil))('refusing', more);
      expect(run.code).toBe(2);
      return run.json()['reason'];
    };
    expect(await reasonOf((copy, _, goods) => writeFile(join(copy, 'goods', goods), 'other goods'))).toBe(
      'export_changed',
    );
    expect(await reasonOf((_, record) => rewrite(record, (text) => text.replace(/ buy \d+ /, ' buy 999 ')))).toBe(
      'export_changed',
    );
    expect(
      await reasonOf((_, record) => rewrite(record, (text) => text.replace('"state": "settled"', '"state": "lost"'))),
    ).toBe('export_unreadable');
    const other = testAccount('another wallet');
    const env = { OPENAISLE_WALLET_KEY: other.key, XDG_DATA_HOME: join(cli.folder(), 'refusing') };
    expect(await reasonOf(async () => {}, { env })).toBe('other_export');
    expect(await bought('refusing')).toEqual([]);
  });
});

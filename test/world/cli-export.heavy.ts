import { watch } from 'node:fs';
import { chmod, cp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { redigest, rewrite } from '../support/export-files.ts';
import type { Member, World } from '../support/market-world.ts';
import { removeListing, seedPaidPurchase, withdrawListing } from '../support/seed.ts';
import { storeStage } from './store-stage.ts';

describe('a store is exported', () => {
  const stage = storeStage();
  const { cli, at, dirNamed, seed, exported, keyOf } = stage;
  let old: World;
  let fresh: World;
  let seller: Member;
  beforeAll(() => {
    [old, fresh, seller] = [stage.old(), stage.fresh(), stage.seller()];
  });

  test('its merchant alone reads a listing back, and no cache keeps it', async () => {
    const id = await seed({ artifact: 'read by one alone' });
    const path = `/api/me/listing/${id}`;
    const own = await old.ask('GET', path, { key: seller.key });
    expect(own.body).toMatchObject({ artifact: 'read by one alone' });
    expect(own.headers.get('cache-control')).toBe('private, no-store');
    const other = await old.join('other');
    const keeper = await keyOf(old, 'keeper');
    for (const key of [other.key, keeper]) expect((await old.ask('GET', path, { key })).status).toBe(404);
    expect((await old.ask('GET', path)).status).toBe(401);
  });

  test('export writes all states, goods, salts and sales, for its owner alone, and no key; a second run reads what is new', async () => {
    const live = await seed({
      title: 'Maps',
      artifact: 'goods of maps',
      license: 'MIT',
      tags: ['a', 'b'],
      keywords: ['csv'],
    });
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
    expect((await fileOf(live)).listing).toMatchObject({ tags: ['a', 'b'], keywords: ['csv'] });
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
    // Pretend that the market's goods have changed since the export.
    const path = join(dir, 'listings', `${live}.json`);
    await rewrite(path, (text) => text.replace(/("artifact_commitment": ")0x..../, '$10xffff'));
    const before = await readFile(path, 'utf8');
    const third = await at(old, ['export', dir, '--json']);
    expect([third.code, third.json()['reason']]).toEqual([1, 'goods_mismatch']);
    expect(await readFile(path, 'utf8')).toBe(before);
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

  test('killed while it writes over an older export, it is whole after the next run', async () => {
    const dir = await exported();
    const file = cli.fileOf(old.url, 'ink');
    let kills = 0;
    for (const nth of [1, 3, 6]) {
      for (const name of await readdir(join(dir, 'listings'))) await rm(join(dir, 'listings', name));
      const { child, ended } = cli.start(['export', dir, '--file', file], { market: old.url });
      let changes = 0;
      const watcher = watch(join(dir, 'listings'), () => {
        changes += 1;
        if (changes === nth) child.kill('SIGKILL');
      });
      const { code } = await ended;
      watcher.close();
      if (code !== null) continue;
      kills += 1;
      expect((await at(fresh, ['import', dir, '--dry-run', '--json'])).json()['reason']).toBe('not_whole');
    }
    expect(kills).toBeGreaterThan(0);
    const done = await at(old, ['export', dir, '--json']);
    expect(done.code, done.stdout).toBe(0);
    const planned = (await at(fresh, ['import', dir, '--dry-run', '--json'])).json()['listings'];
    expect(planned).toHaveLength(Number(done.json()['listings']));
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
    // The import still fails if the digest was changed too, because the listing published a commitment to the goods.
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
});

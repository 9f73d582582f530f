import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { deliveryAnswer } from '../../test/support/market-answers.ts';
import { processorMs } from '../../test/support/processor-time.ts';
import { delivery as deliverySchema } from '../contract/listings.ts';
import { artifactBytes } from '../sdk/payments/artifact-commitment.ts';
import { checkGoodsFile, copyGoods, goodsName, saveGoods } from './save-goods.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-goods-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const delivery = deliverySchema.parse((deliveryAnswer(7) as { body: unknown }).body);

test.each([
  ['notes.md', '7-notes.md'],
  ['../../etc/passwd', '7-etc-passwd'],
  ['/var/.ssh/authorized_keys', '7-var-.ssh-authorized_keys'],
  ['C:\\windows\\x.exe', '7-C-windows-x.exe'],
  ['.bashrc', '7-bashrc'],
  ['con', '7-con'],
  ['a\u0000b\nc', '7-a-b-c'],
  ['....', '7-goods'],
  ['', '7-goods'],
  ['日本語', '7-goods'],
])('%j is kept as %s', (artifact_filename, expected) => {
  expect(goodsName({ listing_id: 7, title: 't', artifact_filename })).toBe(expected);
});

test('no name that a seller gives is a path, a hidden file, or long', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (artifact_filename) => {
      const name = goodsName({ listing_id: 7, title: 't', artifact_filename });
      expect(basename(name)).toBe(name);
      expect(name).toMatch(/^7-[A-Za-z0-9._-]{1,80}$/);
      expect(name).not.toContain('..');
    }),
  );
});

test('a name of any length takes little time, and keeps its end', () => {
  const title = `${'a\u0301\u0316\u0301'.repeat(20_000)}${'\u0301\u0316'.repeat(20_000)} notes.md`;
  expect(goodsName({ listing_id: 7, title, artifact_filename: null })).toBe('7-notes.md');
  expect(processorMs(() => goodsName({ listing_id: 7, title, artifact_filename: null }))).toBeLessThan(50);
});

test('goods are written once, mode 0600, and other files of the name stay', async () => {
  const name = goodsName(delivery);
  await writeFile(join(folder, name), 'of the user');
  const first = await saveGoods(delivery, { folder });
  const second = await saveGoods(delivery, { folder });
  expect(first.path).toBe(second.path);
  expect(await readFile(join(folder, name), 'utf8')).toBe('of the user');
  expect((await stat(first.path)).mode & 0o777).toBe(0o600);
  expect((await readdir(folder)).toSorted()).toEqual([name, basename(first.path)].toSorted());
  expect(await checkGoodsFile(first)).toBe('intact');
  await writeFile(first.path, 'x');
  expect(await checkGoodsFile(first)).toBe('changed');
  await rm(first.path);
  expect(await checkGoodsFile(first)).toBe('missing');
});

test.each<[string, (path: string) => unknown]>([
  ['a pipe', (path) => execFileSync('mkfifo', [path])],
  ['a link to the goods of somebody', (path) => symlink(join(folder, 'goods of somebody'), path)],
  ['a file of any size', (path) => writeFile(path, '').then(() => truncate(path, 2 ** 40))],
  ['a folder', (path) => mkdir(path)],
])('%s in the place of the goods is neither waited for nor taken for them', async (name, put) => {
  const into = await mkdtemp(join(folder, `${name.length}-`));
  await writeFile(join(folder, 'goods of somebody'), artifactBytes(delivery));
  const inTheWay = join(into, goodsName(delivery));
  await put(inTheWay);
  const kept = await saveGoods(delivery, { folder: into });
  expect(basename(kept.path)).toBe(`2-${goodsName(delivery)}`);
  expect(await checkGoodsFile(kept)).toBe('intact');
  expect(await checkGoodsFile({ ...kept, path: inTheWay })).toBe('changed');
});

test('a copy of goods leaves all files of the user as they are', async () => {
  const into = await mkdtemp(join(folder, 'copy-'));
  const kept = await saveGoods(delivery, { folder: await mkdtemp(join(folder, 'from-')) });
  const [taken, free] = [join(into, 'taken'), join(into, 'free')];
  for (const path of [taken, `${taken}.part`, `${free}.part`]) await writeFile(path, 'of the user');
  await expect(copyGoods(kept, taken)).rejects.toMatchObject({ parts: { reason: 'file_exists' } });
  expect(await copyGoods(kept, free)).toBe(free);
  expect(await copyGoods(kept, free)).toBe(free);
  expect(await checkGoodsFile({ ...kept, path: free })).toBe('intact');
  expect((await stat(free)).mode & 0o777).toBe(0o600);
  for (const path of [taken, `${taken}.part`, `${free}.part`]) expect(await readFile(path, 'utf8')).toBe('of the user');
  expect((await readdir(into)).toSorted()).toEqual(['free', 'free.part', 'taken', 'taken.part']);
});

import { mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { redigest } from '../../../test/support/export-files.ts';
import { openForReading, openForWriting, readKind } from './export-folder.ts';
import { FILE_NAME, type PurchasesManifest } from './export-format.ts';

let root = '';
let made = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'openaisle-export-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const WALLET = `0x${'ab'.repeat(20)}`;
const begun: PurchasesManifest = {
  ...{ kind: 'purchases', version: 1, wallet: WALLET, begun_at: '2026-03-01T12:00:00.000Z', completed_at: null },
  ...{ files: {}, signature: null },
};

/** Writes a complete export of two files to its own folder. */
async function writeExport(): Promise<string> {
  made += 1;
  const dir = join(root, String(made));
  const folder = await openForWriting(dir);
  await folder.write('purchases/one.json', { said: 1 });
  await folder.write('goods/one.txt', Buffer.from('goods'));
  await folder.writeManifest({ ...begun, files: await folder.digests(), completed_at: '2026-03-01T12:00:01.000Z' });
  await folder.release();
  return dir;
}

/** Returns the reason of the error that `act` throws, another error as it is, or `none`. */
async function reasonOf(act: () => Promise<unknown>): Promise<unknown> {
  try {
    await act();
    return 'none';
  } catch (error) {
    return error instanceof Error && 'parts' in error ? (error.parts as { reason: string }).reason : error;
  }
}

test('what was written is read, is for its owner alone, and is worked on by one at a time', async () => {
  const dir = await writeExport();
  for (const name of ['.', ...(await readdir(dir, { recursive: true }))]) {
    const found = await stat(join(dir, name));
    expect(found.mode & 0o777, name).toBe(found.isFile() ? 0o600 : 0o700);
  }
  const { folder, content } = await openForReading(dir);
  expect(Object.keys(content.files)).toEqual(['goods/one.txt', 'purchases/one.json']);
  expect(await folder.readJson('purchases/one.json', z.object({ said: z.int() }))).toEqual({ said: 1 });
  expect(await reasonOf(() => readKind(dir))).toBe('file_in_use');
  await folder.release();
  expect(await readKind(dir)).toBe('purchases');
});

test('what a killed process left behind is neither counted nor in the way', async () => {
  const dir = await writeExport();
  await writeFile(join(dir, 'goods', 'one.txt.tmp'), 'half');
  const folder = await openForWriting(dir);
  await folder.writeManifest(begun);
  expect(Object.keys(await folder.digests())).toEqual(['goods/one.txt', 'purchases/one.json']);
  await folder.write('goods/one.txt', Buffer.from('whole'));
  await folder.release();
  expect(await reasonOf(() => openForReading(dir))).toBe('not_whole');
  expect(await readFile(join(dir, 'goods', 'one.txt'), 'utf8')).toBe('whole');
});

test.each([
  '../x',
  '/etc/passwd',
  'goods/../../x',
  'goods/..',
  'goods/.x',
  'goods/a/b',
  'other/x',
  'export.json',
  'goods\\x',
  '',
])('the name %j is never opened, neither to read nor to write', async (name) => {
  expect(FILE_NAME.test(name)).toBe(false);
  const dir = await writeExport();
  const folder = await openForWriting(dir);
  expect(await reasonOf(() => folder.readBytes(name))).toBe('export_unreadable');
  expect(await reasonOf(() => folder.write(name, {}))).toBe('export_unreadable');
  await folder.release();
  expect((await readdir(dir)).toSorted()).toEqual(['export.json', 'goods', 'purchases']);
});

test('a link is followed neither as a file nor as a folder', async () => {
  const outside = join(root, 'outside');
  await mkdir(outside);
  await writeFile(join(outside, 'one.txt'), 'goods');
  const file = await writeExport();
  await rm(join(file, 'goods', 'one.txt'));
  await symlink(join(outside, 'one.txt'), join(file, 'goods', 'one.txt'));
  expect(await reasonOf(() => openForReading(file))).toBe('export_unreadable');
  const inner = await writeExport();
  await rm(join(inner, 'goods'), { recursive: true });
  await symlink(outside, join(inner, 'goods'));
  expect(await reasonOf(() => openForReading(inner))).toBe('export_unreadable');
  const folder = await openForWriting(inner);
  expect(await reasonOf(() => folder.write('goods/two.txt', Buffer.from('x')))).toBe('export_unreadable');
  await folder.release();
  expect(await readdir(outside)).toEqual(['one.txt']);
});

test('a file that is changed after the first look is refused when it is read', async () => {
  const dir = await writeExport();
  const { folder } = await openForReading(dir);
  await writeFile(join(dir, 'goods', 'one.txt'), 'other');
  await writeFile(join(dir, 'purchases', 'one.json'), '{"said":2}');
  expect(await reasonOf(() => folder.readBytes('goods/one.txt'))).toBe('export_changed');
  expect(await reasonOf(() => folder.readJson('purchases/one.json', z.unknown()))).toBe('export_changed');
  await folder.release();
});

test('an export of more bytes than one has is refused before any of it is read', async () => {
  const dir = await writeExport();
  const content = JSON.parse(await readFile(join(dir, 'export.json'), 'utf8')) as { files: Record<string, string> };
  for (let count = 0; count < 66; count += 1) {
    const name = `purchases/${count}.json`;
    await writeFile(join(dir, name), '');
    await truncate(join(dir, name), 67_108_864);
    content.files[name] = `0x${'00'.repeat(32)}`;
  }
  await writeFile(join(dir, 'export.json'), JSON.stringify(content));
  const error = await openForReading(dir).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ parts: { reason: 'export_unreadable', title: expect.stringContaining('68 files') } });
});

test('a changed, missing or foreign file is refused; one that its digest knows is read', async () => {
  const dir = await writeExport();
  await writeFile(join(dir, 'goods', 'one.txt'), 'other');
  expect(await reasonOf(() => openForReading(dir))).toBe('export_changed');
  await redigest(dir);
  expect(await reasonOf(async () => (await openForReading(dir)).folder.release())).toBe('none');
  await rm(join(dir, 'goods', 'one.txt'));
  expect(await reasonOf(() => openForReading(dir))).toBe('export_changed');
  await writeFile(join(dir, 'export.json'), '{"version":2,"kind":"store"}');
  expect(await reasonOf(() => openForReading(dir))).toBe('export_unreadable');
  const other = join(root, 'letters');
  await mkdir(other);
  expect(await reasonOf(() => openForReading(other))).toBe('not_an_export');
  await writeFile(join(other, 'letter.txt'), 'mine');
  expect(await reasonOf(() => openForWriting(other))).toBe('not_an_export');
});

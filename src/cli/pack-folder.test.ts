import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packFolder } from './read-goods.ts';

const exec = promisify(execFile);
const MOST = 1_000_000;
const DEEP = 'a-folder-with-a-long-name-'.repeat(4);
let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-pack-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function fill(name: string, order: readonly string[]): Promise<string> {
  const root = join(folder, name);
  await mkdir(join(root, DEEP), { recursive: true });
  for (const file of order) await writeFile(join(root, file), `text of ${file}`);
  await writeFile(join(root, '.git'), 'left out');
  return root;
}

test('the same files are the same bytes, whatever their times and the order in which they were made', async () => {
  const names = ['b.txt', 'ä.md', 'B.txt', join(DEEP, 'deep.txt')];
  const one = await fill('one', names);
  const two = await fill('two', names.toReversed());
  await utimes(join(two, 'b.txt'), 1, 1);
  const packed = await packFolder(one, MOST);
  expect(packed.files).toEqual(['B.txt', `${DEEP}/deep.txt`, 'b.txt', 'ä.md']);
  expect(packed.leftOut).toEqual(['.git']);
  expect((await packFolder(two, MOST)).bytes).toEqual(packed.bytes);
  await chmod(join(two, 'b.txt'), 0o755);
  expect((await packFolder(two, MOST)).bytes).not.toEqual(packed.bytes);
});

test('the archive is one that tar takes apart', async () => {
  const root = await fill('one', ['b.txt', 'ä.md', join(DEEP, 'deep.txt')]);
  const { bytes } = await packFolder(root, MOST);
  await writeFile(join(folder, 'one.tar'), bytes);
  await mkdir(join(folder, 'out'));
  await exec('tar', ['-xf', join(folder, 'one.tar'), '-C', join(folder, 'out')]);
  await rm(join(root, '.git'));
  await exec('diff', ['-r', root, join(folder, 'out')]);
});

test('links, folders without files, names that are too long and too much are refused', async () => {
  const root = await fill('one', ['b.txt']);
  await expect(packFolder(root, 1_024)).rejects.toThrow('larger than 1024 bytes');
  await writeFile(join(root, 'n'.repeat(120)), 'x');
  await expect(packFolder(root, MOST)).rejects.toThrow('too long for a tar archive');
  await rm(join(root, 'n'.repeat(120)));
  await symlink('/etc/passwd', join(root, 'link'));
  await expect(packFolder(root, MOST)).rejects.toThrow('neither a file nor a folder');
  await mkdir(join(folder, 'empty'));
  await expect(packFolder(join(folder, 'empty'), MOST)).rejects.toThrow('has no files');
});

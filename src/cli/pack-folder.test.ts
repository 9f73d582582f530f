import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { packFolder } from './pack-folder.ts';

const exec = promisify(execFile);
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

async function bytesOf(root: string): Promise<Uint8Array> {
  const { source } = await packFolder(root);
  return await source.slice(0, source.size);
}

test('the same files are the same bytes, whatever their times and the order in which they were made', async () => {
  const names = ['b.txt', 'ä.md', 'B.txt', join(DEEP, 'deep.txt')];
  const one = await fill('one', names);
  const two = await fill('two', names.toReversed());
  await utimes(join(two, 'b.txt'), 1, 1);
  const packed = await packFolder(one);
  const bytes = await bytesOf(one);
  expect(packed.files).toEqual(['B.txt', `${DEEP}/deep.txt`, 'b.txt', 'ä.md']);
  expect(packed.leftOut).toEqual(['.git']);
  expect(await bytesOf(two)).toEqual(bytes);
  await chmod(join(two, 'b.txt'), 0o755);
  expect(await bytesOf(two)).not.toEqual(bytes);
});

test('the archive is one that tar takes apart', async () => {
  const root = await fill('one', ['b.txt', 'ä.md', join(DEEP, 'deep.txt')]);
  await writeFile(join(folder, 'one.tar'), await bytesOf(root));
  await mkdir(join(folder, 'out'));
  await exec('tar', ['-xf', join(folder, 'one.tar'), '-C', join(folder, 'out')]);
  await rm(join(root, '.git'));
  await exec('diff', ['-r', root, join(folder, 'out')]);
});

test('any part of the archive can be read alone, and a file that became shorter is noticed', async () => {
  const root = await fill('one', ['b.txt', 'c.txt']);
  const { source } = await packFolder(root);
  const whole = await source.slice(0, source.size);
  for (const [from, to] of [
    [0, 1],
    [500, 530],
    [511, 1_600],
    [source.size - 3, source.size],
  ] as const)
    expect(await source.slice(from, to)).toEqual(whole.subarray(from, to));
  await writeFile(join(root, 'b.txt'), '');
  await expect(source.slice(0, source.size)).rejects.toThrow('changed');
});

test('links, folders without files and names that are too long are refused', async () => {
  const root = await fill('one', ['b.txt']);
  await writeFile(join(root, 'n'.repeat(120)), 'x');
  await expect(packFolder(root)).rejects.toThrow('too long for a tar archive');
  await rm(join(root, 'n'.repeat(120)));
  await symlink('/etc/passwd', join(root, 'link'));
  await expect(packFolder(root)).rejects.toThrow('neither a file nor a folder');
  await mkdir(join(folder, 'empty'));
  await expect(packFolder(join(folder, 'empty'))).rejects.toThrow('has no files');
});

import { createHmac } from 'node:crypto';
import { chmod, chown, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { initPepper, loadOwnPepper, loadPepper } from './pepper.ts';
import { systemRandom } from './random.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-pepper-'));
  file = join(folder, 'pepper');
});
afterEach(() => rm(folder, { recursive: true }));

const hex = (digit: string): string => digit.repeat(64);
const hmac = (digit: string, secret: string): Buffer =>
  createHmac('sha256', Buffer.from(hex(digit), 'hex'))
    .update(secret)
    .digest();

async function write(text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
}

test('a missing file is made for its owner alone, with 32 random bytes, and no other file is left', async () => {
  await loadPepper({ file, createIfMissing: true });
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readFile(file, 'utf8')).toMatch(/^1:[0-9a-f]{64}\n$/);
  expect(await readdir(folder)).toEqual(['pepper']);
});

test('starts at the same time agree on one pepper', async () => {
  const all = await Promise.all(Array.from({ length: 20 }, () => loadPepper({ file, createIfMissing: true })));
  const later = await loadPepper({ file, createIfMissing: false });
  for (const pepper of all) expect(pepper.hash('secret')).toEqual(later.hash('secret'));
  expect(await readdir(folder)).toEqual(['pepper']);
});

test('the highest version is the current one, and a secret can be looked up under every version', async () => {
  await write(`2:${hex('b')}\n\n10:${hex('c')}\n1:${hex('a')}\n`);
  const pepper = await loadPepper({ file, createIfMissing: true });
  expect(pepper.version).toBe(10);
  expect(pepper.hash('secret')).toEqual(hmac('c', 'secret'));
  expect(pepper.hashes('secret')).toEqual([
    { version: 10, hash: hmac('c', 'secret') },
    { version: 2, hash: hmac('b', 'secret') },
    { version: 1, hash: hmac('a', 'secret') },
  ]);
});

test.each([0o640, 0o604, 0o620, 0o666, 0o444, 0o460])('a file of mode %o is refused', async (mode) => {
  await write(`1:${hex('a')}\n`);
  await chmod(file, mode);
  await expect(loadPepper({ file, createIfMissing: true })).rejects.toThrow(
    `has mode 0${mode.toString(8)}, so other users can read it. Set it to 0600 or 0400, or to 0440`,
  );
});

test.each([0o400, 0o440, 0o600])('a file of mode %o is taken, with a group of this process', async (mode) => {
  await write(`1:${hex('a')}\n`);
  await chmod(file, mode);
  await chown(file, process.getuid?.() ?? 0, process.getgroups?.().at(-1) ?? 0);
  expect((await loadPepper({ file, createIfMissing: false })).hash('secret')).toEqual(hmac('a', 'secret'));
});

// Only root may give a file to a group that it is not a member of.
test.runIf(process.getuid?.() === 0)('a file that another group may read is refused', async () => {
  const others = Math.max(...(process.getgroups?.() ?? []), process.getegid?.() ?? 0) + 1;
  await write(`1:${hex('a')}\n`);
  await chown(file, 0, others);
  await chmod(file, 0o440);
  await expect(loadPepper({ file, createIfMissing: false })).rejects.toThrow(
    `mode 0440 and group ${others}, which is not a group of this process`,
  );
  await chmod(file, 0o400);
  expect((await loadPepper({ file, createIfMissing: false })).version).toBe(1);
});

test('a fresh one is made once: what is there is left as it is', async () => {
  const inside = join(folder, 'of', 'the', 'market');
  const made = await Promise.all([1, 2, 3].map(() => initPepper(inside, systemRandom)));
  expect(made.filter(Boolean)).toEqual([true]);
  const text = await readFile(inside, 'utf8');
  expect(await initPepper(inside, systemRandom)).toBe(false);
  expect(await readFile(inside, 'utf8')).toBe(text);
  await rm(inside);
  await symlink(join(folder, 'nowhere'), inside);
  expect(await initPepper(inside, systemRandom)).toBe(false);
  expect(await readdir(join(folder, 'of', 'the'))).toEqual(['market']);
});

test.each([
  ['empty', '\n'],
  ['without versions', hex('a')],
  ['too short', `1:${'a'.repeat(62)}`],
  ['in upper case', `1:${hex('A')}`],
  ['of version 0', `0:${hex('a')}`],
  ['with one version twice', `1:${hex('a')}\n1:${hex('b')}`],
  ['with a line of something else', `1:${hex('a')}\nsecret-looking-rest`],
])('a file %s is refused, without quoting it', async (_what, text) => {
  await write(text);
  const error: unknown = await loadPepper({ file, createIfMissing: true }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(Error);
  expect(String(error)).toContain(file);
  expect(String(error)).not.toMatch(/aaaa|bbbb|AAAA|secret-looking/);
  expect(await readFile(file, 'utf8')).toBe(text);
});

test('a file that the operator named is never made up', async () => {
  await expect(loadOwnPepper({ pepperFile: file, dataDir: folder })).rejects.toThrow('does not exist');
  expect(await readdir(folder)).toEqual([]);
});

test('without a named file it is kept in the data folder, made too if need be', async () => {
  const made = await loadOwnPepper({ pepperFile: null, dataDir: join(folder, 'data') });
  const again = await loadPepper({ file: join(folder, 'data', 'pepper'), createIfMissing: false });
  expect(again.hash('secret')).toEqual(made.hash('secret'));
});

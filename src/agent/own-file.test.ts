import { execFileSync } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { findUnsafeFolder, LIMIT_RULES, readOwnFile, SECRET_RULES } from './own-file.ts';

const STRANGER = 65_534;
const isRoot = process.getuid?.() === 0;

const homes: string[] = [];
let home = '';
let folder = '';
let path = '';
beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'openaisle-own-'));
  homes.push(home);
  folder = join(home, 'config');
  path = join(folder, 'file.json');
  await mkdir(folder, { mode: 0o755 });
  await writeFile(path, 'text', { mode: 0o600 });
});
afterAll(() => Promise.all(homes.map((one) => rm(one, { recursive: true, force: true }))));

async function faultWith(mode: number, rules = LIMIT_RULES): Promise<unknown> {
  await chmod(path, mode);
  const read = await readOwnFile(path, rules);
  return read !== null && 'fault' in read ? read.fault : read;
}

test('limits may be read by others and written by nobody else; secrets are for their owner alone', async () => {
  for (const mode of [0o600, 0o644, 0o444]) expect(await faultWith(mode)).toEqual({ text: 'text' });
  for (const mode of [0o620, 0o602, 0o666])
    expect(await faultWith(mode)).toMatchObject({ kind: 'unsafe', nextStep: expect.stringContaining('chmod go-w') });
  expect(await faultWith(0o600, SECRET_RULES)).toEqual({ text: 'text' });
  for (const mode of [0o640, 0o604, 0o620])
    expect(await faultWith(mode, SECRET_RULES)).toMatchObject({ nextStep: expect.stringContaining('chmod 600') });
});

test('what is none is null; a link, a folder, a pipe and what is too large are refused, and none is waited for', async () => {
  expect(await readOwnFile(join(folder, 'none'), LIMIT_RULES)).toBeNull();
  const [link, pipe, large] = ['link', 'pipe', 'large'].map((name) => join(folder, name)) as [string, string, string];
  await symlink(path, link);
  execFileSync('mkfifo', [pipe]);
  await writeFile(large, 'x'.repeat(LIMIT_RULES.largestBytes + 1));
  for (const [one, kind] of [
    [link, 'unsafe'],
    [folder, 'unusable'],
    [pipe, 'unusable'],
    [large, 'unusable'],
  ] as const)
    expect(await readOwnFile(one, LIMIT_RULES), one).toMatchObject({ fault: { kind } });
});

test('a folder above in which others may take files away is named, up to the home and not beyond', async () => {
  expect(await findUnsafeFolder(path, home)).toBeNull();
  for (const [one, mode] of [
    [folder, 0o775],
    [folder, 0o757],
    [home, 0o777],
  ] as const) {
    await chmod(one, mode);
    expect(await findUnsafeFolder(path, home)).toMatchObject({
      kind: 'unsafe',
      why: expect.stringContaining(one),
      nextStep: `Run chmod go-w ${one}`,
    });
    await chmod(one, 0o755);
  }
  await chmod(folder, 0o1777);
  expect(await findUnsafeFolder(path, home)).toBeNull();
  await chmod(folder, 0o755);
  await chmod(home, 0o777);
  expect(await findUnsafeFolder(path, folder)).toBeNull();
  // A missing folder would be created in its existing parent, so the parent is checked.
  expect(await findUnsafeFolder(join(home, 'none', 'file.json'), join(home, 'none', 'home'))).not.toBeNull();
  await chmod(home, 0o700);
});

test('where a link among the folders leads is looked at too', async () => {
  const open = join(home, 'open');
  await mkdir(open);
  await rename(folder, join(open, 'config'));
  await chmod(open, 0o777);
  await symlink(join(open, 'config'), folder);
  expect(await findUnsafeFolder(path, home)).toMatchObject({ why: expect.stringContaining(`${open} can be written`) });
});

test.runIf(isRoot)(
  'what belongs to another user is refused with the owner’s number; a secret root may read',
  async () => {
    await chown(path, STRANGER, STRANGER);
    expect(await faultWith(0o600)).toMatchObject({ kind: 'unsafe', why: expect.stringContaining(`uid ${STRANGER}`) });
    expect(await faultWith(0o600, SECRET_RULES)).toEqual({ text: 'text' });
    await chown(folder, STRANGER, STRANGER);
    expect(await findUnsafeFolder(path, home)).toMatchObject({
      nextStep: expect.stringContaining(`chown 0 ${folder}`),
    });
  },
);

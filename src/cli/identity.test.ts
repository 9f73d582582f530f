import { chmod, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { writePrivate } from '../agent/private-file.ts';
import { emptyIdentity, printIdentity, readIdentity, withIdentityFile } from './identity.ts';

const INK = { ...emptyIdentity('https://market.example', 'ink'), merchant_key: 'a-key-of-ink' };

describe('a merchant’s file', () => {
  let folder = '';
  let path = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'openaisle-identity-'));
    path = join(folder, 'made', 'here', 'ink.json');
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  const reasonOf = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => 'done',
      (error: { parts?: { reason: string } }) => error.parts?.reason ?? error,
    );

  test('is written whole, in a folder that is made, and nothing else stays', async () => {
    await withIdentityFile(path, (held) => held.save(INK));
    expect(await readIdentity(path)).toEqual(INK);
    expect(await readdir(join(folder, 'made', 'here'))).toEqual(['ink.json']);
    await writeFile(`${path}.tmp`, 'half of what a killed process wr', { mode: 0o600 });
    await withIdentityFile(path, (held) => held.save({ ...INK, merchant_id: 7 }));
    expect((await readIdentity(path))?.merchant_id).toBe(7);
    expect(await readdir(join(folder, 'made', 'here'))).toEqual(['ink.json']);
  });

  test('is held by one at a time', async () => {
    await withIdentityFile(path, async () => {
      expect(await reasonOf(withIdentityFile(path, () => Promise.resolve()))).toBe('file_in_use');
      // The same path, spelled differently.
      const same = join(folder, 'made', '..', 'made', 'here', 'ink.json');
      expect(await reasonOf(withIdentityFile(same, () => Promise.resolve()))).toBe('file_in_use');
      expect(await reasonOf(withIdentityFile(`${path}.other`, () => Promise.resolve()))).toBe('done');
    });
    expect(await reasonOf(withIdentityFile(path, () => Promise.resolve()))).toBe('done');
  });

  test('that a program without the lock changed meanwhile is left as it is', async () => {
    await withIdentityFile(path, (held) => held.save(INK));
    const theirs = printIdentity({ ...INK, merchant_key: 'a-newer-key' });
    const work = withIdentityFile(path, async (held) => {
      await writeFile(path, theirs);
      await held.save({ ...INK, merchant_id: 7 });
    });
    expect(await reasonOf(work)).toBe('file_changed');
    expect(await readFile(path, 'utf8')).toBe(theirs);
  });

  test('that exists is never replaced by a new one', async () => {
    await withIdentityFile(path, (held) => held.save(INK));
    expect(await reasonOf(writePrivate(path, 'new', 'new'))).toBe('file_exists');
    expect(await readIdentity(path)).toEqual(INK);
  });

  test('is refused as a link, when others can read it, and when it is something else, which is not quoted', async () => {
    await withIdentityFile(path, (held) => held.save(INK));
    const link = join(folder, 'link.json');
    await symlink(path, link);
    expect(await reasonOf(readIdentity(link))).toBe('file_refused');
    for (const mode of [0o640, 0o604, 0o620]) {
      await chmod(path, mode);
      expect(await reasonOf(readIdentity(path))).toBe('file_refused');
    }
    await chmod(path, 0o600);
    for (const text of ['a-secret', '{"merchant_key":"a-secret"}', '["a-secret"]']) {
      await writeFile(path, text);
      const refused = await readIdentity(path).catch((error: unknown) => error);
      expect(refused).toMatchObject({ parts: { reason: 'file_refused' } });
      expect(JSON.stringify(refused)).not.toContain('a-secret');
    }
  });
});

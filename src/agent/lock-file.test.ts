import { chown, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockFile, lockNameOf } from './lock-file.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-lock-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a file in use is refused at once with the process that has it, and free again after its release', async () => {
  const path = join(folder, 'one');
  const lock = await lockFile(path);
  await expect(lockFile(path)).rejects.toMatchObject({
    parts: { reason: 'file_in_use', title: `Another openaisle process is using ${path} (process ${process.pid})` },
  });
  await lock.release();
  await (await lockFile(path)).release();
  expect(await readdir(folder)).toEqual([]);
});

test('many that wait come one at a time, and all of them', async () => {
  const path = join(folder, 'many');
  const until = AbortSignal.timeout(60_000);
  let [inside, most, done] = [0, 0, 0];
  const enter = async (): Promise<void> => {
    const lock = await lockFile(path, { until });
    inside += 1;
    most = Math.max(most, inside);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
    done += 1;
    await lock.release();
  };
  await Promise.all(Array.from({ length: 60 }, enter));
  expect([most, done]).toEqual([1, 60]);
  expect(await readdir(folder)).toEqual([]);
}, 60_000);

test('who waits too long is refused, and the holder keeps it', async () => {
  const path = join(folder, 'long');
  const lock = await lockFile(path);
  const stop = new AbortController();
  const waiting = lockFile(path, { until: stop.signal });
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ parts: { reason: 'file_in_use' } });
  await expect(lockFile(path)).rejects.toMatchObject({ parts: { reason: 'file_in_use' } });
  await lock.release();
});

test('where another user has put something in the place of the lock, what needs one is refused, and says what to remove', async () => {
  const path = join(folder, 'book');
  const inTheWay = join(folder, lockNameOf(path));
  await mkdir(inTheWay);
  await chown(inTheWay, 65_534, 65_534);
  await expect(lockFile(path, { needed: true })).rejects.toMatchObject({
    parts: { reason: 'no_lock', title: expect.stringContaining(`${inTheWay} belongs to another user`) },
  });
  // Without `needed`, the work continues without a lock, so that no other user can block it.
  await (await lockFile(path)).release();
});

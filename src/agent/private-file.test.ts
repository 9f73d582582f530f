import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lockFile } from './private-file.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-lock-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('a file in use is refused at once, and free again after its release', async () => {
  const path = join(folder, 'one');
  const lock = await lockFile(path);
  await expect(lockFile(path)).rejects.toMatchObject({ parts: { reason: 'file_in_use' } });
  await lock.release();
  await (await lockFile(path)).release();
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
});

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

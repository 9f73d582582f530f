import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
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

describe('where names of sockets are in the file system', () => {
  const { platform } = process;
  const folderOfLocks = `/tmp/openaisle-${process.getuid?.() ?? 0}`;
  afterEach(() => Object.defineProperty(process, 'platform', { value: platform }));

  test('what a killed process left is taken away once, and those that come at once hold it one at a time', async () => {
    Object.defineProperty(process, 'platform', { value: 'darwin' });
    const path = join(folder, 'elsewhere');
    const lock = await lockFile(path);
    const [name = ''] = (await readdir(folderOfLocks)).filter((file) => file.endsWith('.sock'));
    await lock.release();
    const listener = `require('node:net').createServer().listen(${JSON.stringify(join(folderOfLocks, name))}, () => console.log('up'))`;
    const killed = spawn(process.execPath, ['-e', listener], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(killed.stdout, 'data');
    await expect(lockFile(path)).rejects.toMatchObject({ parts: { reason: 'file_in_use' } });
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    expect(await readdir(folderOfLocks)).toContain(name);

    let [inside, most, done] = [0, 0, 0];
    const enter = async (): Promise<void> => {
      const held = await lockFile(path, { until: AbortSignal.timeout(60_000), needed: true });
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside -= 1;
      done += 1;
      await held.release();
    };
    await Promise.all(Array.from({ length: 20 }, enter));
    expect([most, done]).toEqual([1, 20]);
    expect((await readdir(folderOfLocks)).filter((file) => file.startsWith(name))).toEqual([]);
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';

const PROGRAM = fileURLToPath(new URL('../../test/support/cluster-program.ts', import.meta.url));
const started: ChildProcess[] = [];
const patiently = { timeout: 20_000, interval: 10 };

afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
});

function run(mode: string) {
  const child = spawn(process.execPath, [PROGRAM, mode], { stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  const lines: Record<string, unknown>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(JSON.parse(line)));
  return {
    child,
    of: (event: string) => lines.filter((line) => line['event'] === event),
    exited: once(child, 'close').then(() => child.exitCode),
  };
}

test('one that always dies is tried again for as long as another lives', async () => {
  const { child, of, exited } = run('first falls');
  await expect.poll(() => of('worker_ended').length, patiently).toBeGreaterThanOrEqual(8);
  const falls = of('worker_ended');
  expect(falls.every(({ worker, code }) => worker === 1 && code === 3)).toBe(true);
  expect(falls.map(({ attempt }) => attempt)).toEqual(falls.map((_, index) => index + 1));
  expect(of('failed')).toEqual([]);
  // A worker that is not ready is not asked.
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
  expect(of('asked')).toMatchObject([{ count: 1, name: '2' }]);
});

test('where all that served die young again and again, it is given up', async () => {
  const { of, exited } = run('all fall');
  expect(await exited).toBe(0);
  expect(of('failed')).toHaveLength(1);
  const falls = of('worker_ended').filter(({ worker }) => worker === 1);
  expect(falls.length).toBeGreaterThanOrEqual(6);
});

test('those that do not end when told to are killed after the time they have', async () => {
  const { child, of, exited } = run('deaf');
  await expect.poll(() => of('ready').length, patiently).toBe(2);
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
  expect(of('worker_killed').map(({ worker }) => worker)).toEqual([1, 2]);
});

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { policyFileOf } from './policy.ts';

const RESERVE = fileURLToPath(new URL('../../test/support/agent-reserve-program.ts', import.meta.url));

const started: ChildProcess[] = [];
const homes: string[] = [];
afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  for (const home of homes.splice(0)) await rm(home, { recursive: true, force: true });
});

describe('processes at once', () => {
  /** Starts a process that reserves 1 USDC and keeps it. Returns the first line that it prints. */
  async function reserving(home: string, key: string): Promise<{ child: ChildProcess; said: string }> {
    const env = { HOME: home, PATH: process.env['PATH'] ?? '' };
    const child = spawn(process.execPath, [RESERVE, key], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    started.push(child);
    const [said] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
    return { child, said };
  }

  async function homeWithDay(perDayUsdc: number): Promise<string> {
    const home = await mkdtemp(join(tmpdir(), 'openaisle-book-'));
    homes.push(home);
    const path = policyFileOf({ HOME: home });
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, JSON.stringify({ version: 1, per_purchase_usdc: 5, per_day_usdc: perDayUsdc }));
    return home;
  }

  test('six at the day’s limit of three: three are put aside', async () => {
    const home = await homeWithDay(3);
    const all = await Promise.all(Array.from({ length: 6 }, (_, index) => reserving(home, `key ${index}`)));
    expect(all.map(({ said }) => said).toSorted()).toEqual([
      ...['above_per_day', 'above_per_day', 'above_per_day'],
      ...['reserved', 'reserved', 'reserved'],
    ]);
  }, 60_000);

  test('the same purchase twice at once is refused clearly', async () => {
    const home = await homeWithDay(3);
    expect((await reserving(home, 'same')).said).toBe('reserved');
    expect((await reserving(home, 'same')).said).toBe('purchase_in_use');
  }, 60_000);

  test('what a killed process put aside is free for others, what a living one did is not', async () => {
    const home = await homeWithDay(1);
    const { child, said } = await reserving(home, 'first');
    expect(said).toBe('reserved');
    expect((await reserving(home, 'second')).said).toBe('above_per_day');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect((await reserving(home, 'third')).said).toBe('reserved');
  }, 60_000);
});

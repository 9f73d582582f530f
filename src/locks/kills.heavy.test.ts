/** Many processes take one lock repeatedly and are paused and killed at random. Two may never hold it at once, and the next must get it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { compileCache } from '../../test/support/compile-cache.ts';
import { createDice } from '../../test/support/dice.ts';
import { systemClock } from '../platform/clock.ts';
import { systemRandom } from '../platform/random.ts';
import { takeLock } from './take-lock.ts';

const PROGRAM = fileURLToPath(new URL('../../test/support/lock-program.ts', import.meta.url));
/** Seed for the choice of kills. It is printed, and can be set in the environment to repeat a run. */
const SEED = Number(process.env['OPENAISLE_KILLS_SEED'] ?? systemRandom.bytes(4).readUInt32BE());
const PROCESSES = 8;
const SECONDS = Number(process.env['OPENAISLE_LOCK_SECONDS'] ?? 15);

const placeOf = (of: string) => ({ folder: of, name: '.lock', earlier: { name: `openaisle-test-${of}`, folder: of } });

const running = new Set<ChildProcess>();
let folder = '';
afterEach(async () => {
  for (const child of running) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
});

interface Passed {
  entered: number;
  takenOver: number;
  /** Processes that entered while another live process was inside. */
  together: string[];
}

/** Lines are in the order in which they were appended. A kill is recorded before it happens, so before the next process can enter. */
function readJournal(journal: string): Passed {
  const passed: Passed = { entered: 0, takenOver: 0, together: [] };
  let inside: string | null = null;
  const killed = new Set<string>();
  for (const line of readFileSync(journal, 'utf8').trim().split('\n')) {
    const [what = '', pid = ''] = line.split(' ');
    if (what === 'kill' || what === 'end') killed.add(pid);
    if (what === 'leave' && inside === pid) inside = null;
    if (what !== 'enter') continue;
    passed.entered += 1;
    if (inside !== null && killed.has(inside)) passed.takenOver += 1;
    if (inside !== null && !killed.has(inside)) passed.together.push(`${pid} beside ${inside}`);
    inside = pid;
  }
  return passed;
}

test('of many processes that are stopped and killed at random never two have the lock, and it is never lost', async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-locks-'));
  const journal = join(folder, 'journal');
  const dice = createDice(SEED);
  let starts = 0;
  const start = (): void => {
    starts += 1;
    const args = [PROGRAM, folder, journal, String(dice.number(2 ** 31))];
    const child = spawn(process.execPath, args, { env: compileCache(), stdio: ['ignore', 'ignore', 'inherit'] });
    running.add(child);
    child.once('exit', () => running.delete(child));
  };
  appendFileSync(journal, 'begin 0\n');
  const endMs = systemClock.now() + SECONDS * 1_000;
  while (systemClock.now() < endMs) {
    while (running.size < PROCESSES) start();
    await systemClock.sleep(dice.number(250));
    const child = dice.pick([...running]);
    if (dice.chance(0.5)) {
      // Pause the process, possibly while it takes the lock, so that it continues late.
      child.kill('SIGSTOP');
      await systemClock.sleep(dice.number(60));
      child.kill('SIGCONT');
      continue;
    }
    // Record the kill first, because the process may be gone from here on.
    appendFileSync(journal, `kill ${child.pid}\n`);
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  for (const child of running) appendFileSync(journal, `kill ${child.pid}\n`);
  await Promise.all(
    [...running].map(async (child) => {
      const ended = once(child, 'exit');
      child.kill('SIGKILL');
      await ended;
    }),
  );
  const passed = readJournal(journal);
  process.stdout.write(
    `locks: seed ${SEED}, ${starts} starts, ${passed.entered} entered, ${passed.takenOver} taken over\n`,
  );
  expect(passed.together).toEqual([]);
  expect(passed.entered).toBeGreaterThan(50);
  expect(passed.takenOver).toBeGreaterThan(5);
  // Whatever dead processes left behind, the next one gets the lock at once and cleans up.
  await (await takeLock(placeOf(folder))).release();
  expect(await readdir(folder)).toEqual(['journal']);
}, 120_000);

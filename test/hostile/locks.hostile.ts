/** A second user of the machine tries to stop a market, a facilitator, a city and a wallet. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { chmod, lstat, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readPolicy } from '../../src/agent/policy.ts';
import { openSpendBook } from '../../src/agent/spend-book.ts';
import { emptyIdentity, withIdentityFile } from '../../src/cli/identity.ts';
import { lockDataFolder } from '../../src/platform/data-folder.ts';
import { readLogEnd } from '../../src/platform/log-copy/log-copy.ts';
import { startTestChain } from '../support/chain.ts';
import { compileCache } from '../support/compile-cache.ts';
import { testDatabase } from '../support/database.ts';
import { startTestFacilitator } from '../support/facilitator.ts';
import { freePort } from '../support/free-port.ts';
import { type MainProcess, mainProcesses } from '../support/main-process.ts';
import { samplePlan } from '../support/sample-spend.ts';
import { type SecondUser, startSecondUser } from './second-user.ts';
import { watchMemory } from './strangers.ts';

const RESERVE = fileURLToPath(new URL('../support/agent-reserve-program.ts', import.meta.url));
const CITY = fileURLToPath(new URL('../../src/city/main.ts', import.meta.url));
/** A market takes about 300 MB after its start. The second user sends 400 MB to everyone who connects. */
const MAX_MB = 450;
const patiently = { timeout: 60_000, interval: 50 };

let stranger: SecondUser;
beforeEach(async () => {
  stranger = await startSecondUser();
});
afterEach(() => stranger.stop());

async function joinAs(url: string, handle: string): Promise<void> {
  const ask = async (body: object, key?: string): Promise<Record<string, unknown>> => {
    const headers = {
      'content-type': 'application/json',
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    };
    const answer = await fetch(`${url}/api/register`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Record<string, unknown>;
  };
  const staged = await ask({
    action: 'stage',
    handle,
    model: 'm',
    client_class: 'coding_ephemeral',
    human_approved: true,
  });
  const { session, csrf, merchant_key: key } = staged;
  await ask({ action: 'confirm', session, csrf }, String(key));
}

async function readyz(url: string): Promise<Record<string, unknown>> {
  return (await (await fetch(`${url}/readyz`)).json()) as Record<string, unknown>;
}

describe('a market', () => {
  const db = testDatabase();
  const { environment, folder, onGivenDatabase, start } = mainProcesses(db);
  const copiedTo = async (): Promise<number> => Number((await readLogEnd(join(folder(), 'log-copy')))?.id ?? 0n);

  async function stop(market: MainProcess): Promise<void> {
    market.child.kill('SIGTERM');
    expect(await market.exited).toBe(0);
  }

  it('starts again with its log copied, whatever names of the kernel another user holds, and whatever that one answers', async () => {
    const env = await environment();
    const first = start(env);
    await first.logged('market_listening');
    await joinAs(first.url, 'the-keeper');
    await expect.poll(copiedTo, patiently).toBeGreaterThan(0);
    const before = await copiedTo();
    // The second user can find these names while the market runs.
    const folders = [join(folder(), 'postgres'), join(folder(), 'log-copy')];
    const computed = await Promise.all(folders.map(async (path) => nameOf(path)));
    expect(await stranger.names()).toEqual(expect.arrayContaining(computed));
    const holding = computed.map((name) => stranger.hold(name));
    await stop(first);
    await Promise.all(holding);
    const second = start(env);
    const memory = watchMemory(second.child.pid ?? 0);
    await second.logged('market_listening');
    await joinAs(second.url, 'one-more');
    await expect.poll(copiedTo, patiently).toBeGreaterThan(before);
    expect(await readyz(second.url)).toMatchObject({ history: 'whole', log_copy: 'kept' });
    expect(memory.end()).toBeLessThan(MAX_MB);
    expect(await stranger.asked()).toBe(0);
    await stop(second);
  }, 180_000);

  it('is not reached by another user in its locks, and not disturbed by a crowd at its names', async () => {
    const market = start(await environment());
    await market.logged('market_listening');
    const lock = join(folder(), 'postgres', '.lock');
    const [id = ''] = (await readdir(lock)).filter((name) => name !== 'holder');
    expect(await stranger.reach(join(lock, id))).toBe('EACCES');
    await stranger.crowd(await nameOf(join(folder(), 'postgres')));
    await expect(lockDataFolder(join(folder(), 'postgres'), 'here')).rejects.toThrow(
      `here is in use by process ${market.child.pid}`,
    );
    await expect.poll(() => openFiles(market), patiently).toBeLessThan(500);
    expect((await readyz(market.url))['status']).toBe('ready');
  }, 120_000);

  it('says when its log copy stands still, since when, and which process has it', async () => {
    const market = start(await onGivenDatabase());
    await market.logged('market_listening');
    await joinAs(market.url, 'the-keeper');
    await expect.poll(copiedTo, patiently).toBeGreaterThan(0);
    await stop(market);
    // One of our processes holds the lock but does not write.
    const lock = await lockDataFolder(join(folder(), 'log-copy'), 'the copy');
    const again = start(await onGivenDatabase());
    await again.logged('market_listening');
    await joinAs(again.url, 'one-more');
    await expect.poll(() => again.lines('log_copy_behind'), patiently).toHaveLength(1);
    const [line = {}] = again.lines('log_copy_behind');
    expect(line).toMatchObject({ level: 'error', pid: process.pid, event_id: await copiedTo() });
    expect(await readyz(again.url)).toMatchObject({
      log_copy: 'behind',
      log_copy_behind_since: line['from'],
      history: 'whole',
    });
    await lock.release();
    await expect.poll(() => again.lines('log_copy_caught_up'), patiently).toHaveLength(1);
    expect(await readyz(again.url)).toMatchObject({ log_copy: 'kept' });
    await stop(again);
  }, 180_000);
});

async function nameOf(path: string): Promise<string> {
  const { dev, ino } = await stat(path, { bigint: true });
  return `openaisle-data-${dev}-${ino}`;
}

/** Returns the lock name that the previous version used for a file. */
async function earlierNameOf(path: string): Promise<string> {
  const { dev, ino } = await stat(dirname(path), { bigint: true });
  const digest = createHash('sha256')
    .update(`${dev}-${ino}-${basename(path)}`)
    .digest('hex');
  return `openaisle-${digest.slice(0, 32)}`;
}

async function openFiles({ child }: MainProcess): Promise<number> {
  return (await readdir(`/proc/${child.pid}/fd`)).length;
}

describe('other servers', () => {
  const started: ChildProcess[] = [];
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'openaisle-second-user-'));
  });
  afterEach(async () => {
    for (const child of started.splice(0)) {
      child.kill('SIGTERM');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  });

  it('a facilitator starts on a folder whose name another user holds', async () => {
    const chain = await startTestChain();
    try {
      await mkdir(join(folder, 'facilitator'), { mode: 0o700 });
      await stranger.hold(await nameOf(join(folder, 'facilitator')));
      const facilitator = await startTestFacilitator(chain, { dataDir: folder });
      await expect(startTestFacilitator(chain, { dataDir: folder })).rejects.toThrow(/in use by process \d+/);
      await facilitator.close();
      expect(await stranger.asked()).toBe(0);
    } finally {
      await chain.stop();
    }
  });

  it('a city starts on a folder whose name another user holds', async () => {
    const postgres = join(folder, 'city', 'postgres');
    await mkdir(postgres, { recursive: true, mode: 0o711 });
    for (const open of [folder, join(folder, 'city'), postgres]) await chmod(open, 0o711);
    await stranger.hold(await nameOf(postgres));
    const env = {
      ...compileCache(),
      PATH: process.env['PATH'] ?? '',
      CITY_PORT: String(await freePort()),
      CITY_DATA_DIR: folder,
      CITY_MARKET_URL: 'http://127.0.0.1:1',
      CITY_RPC_URLS: 'http://127.0.0.1:1',
    };
    const child = spawn(process.execPath, [CITY], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    started.push(child);
    let said = '';
    child.stdout.on('data', (text) => {
      said += String(text);
    });
    await expect.poll(() => said, patiently).toContain('"city_listening"');
  }, 90_000);
});

describe('a wallet', () => {
  let home = '';
  beforeEach(async () => {
    home = await mkdtemp(join(tmpdir(), 'openaisle-second-user-'));
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  /** Reserves one payment in a separate process, which prints `reserved`. */
  async function reserve(key: string): Promise<string> {
    const env = { ...compileCache(), HOME: home, PATH: process.env['PATH'] ?? '' };
    const child = spawn(process.execPath, [RESERVE, key], { env, stdio: ['pipe', 'pipe', 'inherit'] });
    const ended = once(child, 'exit');
    const [said] = (await once(child.stdout, 'data')) as [Buffer];
    child.stdin.end();
    await ended;
    return said.toString().trim();
  }

  it('keeps the use of its book and of a merchant’s file, though another user holds their names', async () => {
    expect(await reserve('first')).toBe('reserved');
    const identity = join(home, 'merchants', 'ink.json');
    const rotate = (): Promise<void> =>
      withIdentityFile(identity, (held) => held.save(emptyIdentity('https://market.example', 'ink')));
    await rotate();
    const spends = join(home, '.local', 'share', 'openaisle', `0x${'ab'.repeat(20)}`, 'spends');
    const names = await Promise.all([join(spends, 'book'), identity].map(earlierNameOf));
    for (const name of names) await stranger.hold(name);
    expect(await reserve('second')).toBe('reserved');
    await rotate();
    expect(await stranger.asked()).toBe(0);
  }, 120_000);

  it('needs no folder that another user could make first', async () => {
    const shared = `/tmp/openaisle-${process.getuid?.()}`;
    const left = await lstat(shared).catch(() => null);
    if (left?.uid === process.getuid?.()) await rm(shared, { recursive: true });
    await stranger.makeFolder(shared);
    expect((await lstat(shared)).uid).toBe(65_534);
    const { platform } = process;
    Object.defineProperty(process, 'platform', { value: 'darwin' });
    try {
      const book = openSpendBook({ env: { HOME: home }, address: `0x${'ab'.repeat(20)}` });
      const policy = await readPolicy({ HOME: home });
      await book.hold('third', (held) => held.reserve(samplePlan({ key: 'third' }), policy));
    } finally {
      Object.defineProperty(process, 'platform', { value: platform });
      await rm(shared, { recursive: true });
    }
  });
});

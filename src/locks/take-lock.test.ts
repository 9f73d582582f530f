import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  chown,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readlink,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemRandom } from '../platform/random.ts';
import { type Lock, takeLock } from './take-lock.ts';

const { platform } = process;
let folder = '';
let name = '';
const started: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'openaisle-lock-'));
  name = `openaisle-test-${systemRandom.uuid()}`;
});
afterEach(async () => {
  Object.defineProperty(process, 'platform', { value: platform });
  for (const child of started.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
});

const at = (...path: string[]): string => join(folder, '.lock', ...path);
const take = (until?: AbortSignal, within = folder) =>
  takeLock({ folder: within, name: '.lock', earlier: { name, folder, text: 'hello' } }, until);
const mustTake = async (until?: AbortSignal, within?: string): Promise<Lock> => {
  const taken: Lock | string = await take(until, within).catch((error: { why?: string }) => String(error.why ?? error));
  if (typeof taken === 'string') expect.fail(`no lock: ${taken}`);
  return taken;
};
const whyNot = (): Promise<unknown> =>
  take().then(
    async (lock) => {
      await lock.release();
      return 'taken';
    },
    (error: { why?: string }) => error.why ?? error,
  );

/** Starts a process that only listens at a path. A leading `\0` means a name in the kernel. With another `uid`, it runs as that user. */
async function startListener(path: string, uid = 0): Promise<ChildProcess> {
  const drop = uid === 0 ? '' : `process.setgroups([]); process.setgid(${uid}); process.setuid(${uid});`;
  const program = `${drop} require('node:net').createServer().listen(${JSON.stringify(path)}, () => console.log('up'))`;
  const child = spawn(process.execPath, ['-e', program], { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  await once(child.stdout, 'data');
  return child;
}
/** Starts a process of another user that replaces the socket behind a kernel name a thousand times a second. */
async function startChanger(of: string): Promise<ChildProcess> {
  const listen = `server = net.createServer().on('error', () => {}).listen(${JSON.stringify(`\0${of}`)})`;
  const program = `process.setgroups([]); process.setgid(65534); process.setuid(65534); const net = require('node:net');
    let server; ${listen}; setInterval(() => { server.close(); ${listen}; }, 1); setTimeout(() => console.log('up'), 50)`;
  const child = spawn(process.execPath, ['-e', program], { cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] });
  started.push(child);
  await once(child.stdout, 'data');
  return child;
}
async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const idOf = (child: ChildProcess): string => `${child.pid}-${systemRandom.bytes(12).toString('hex')}`;

/** Starts a process that holds the lock, with the same files as a real holder, until it is killed. */
async function startHolder(): Promise<{ child: ChildProcess; id: string }> {
  await mkdir(at(), { recursive: true, mode: 0o700 });
  const fresh = at('fresh');
  const child = await startListener(fresh);
  const id = idOf(child);
  await rename(fresh, at(id));
  await symlink(id, at('holder'));
  return { child, id };
}

test('a lock is held by one, names the process that holds it, and leaves nothing behind', async () => {
  const lock = await mustTake();
  expect((await lstat(at())).mode & 0o777).toBe(0o700);
  await expect(take()).rejects.toMatchObject({ why: 'held', pid: process.pid });
  await lock.release();
  expect(await readdir(folder)).toEqual([]);
  await (await mustTake()).release();
});

test('a stopped process keeps it, a killed one does not, and what that one left is taken away by the next', async () => {
  const { child } = await startHolder();
  child.kill('SIGSTOP');
  await expect(take()).rejects.toMatchObject({ why: 'held', pid: child.pid });
  const waiting = mustTake(AbortSignal.timeout(20_000));
  await kill(child);
  const lock = await waiting;
  expect(await readdir(at())).toHaveLength(2);
  await lock.release();
  expect(await readdir(folder)).toEqual([]);
});

test('a process that was killed while it took over is no obstacle either, and one that lives is', async () => {
  const { child: first, id } = await startHolder();
  await kill(first);
  const second = await startListener(at('fresh'));
  const next = idOf(second);
  await rename(at('fresh'), at(next));
  await symlink(next, at(`after-${id}`));
  expect(await whyNot()).toBe('held');
  await kill(second);
  expect(await whyNot()).toBe('taken');
  expect(await readdir(folder)).toEqual([]);
});

test('who makes a link behind what was cleared up meanwhile has no lock', async () => {
  const { child: dead, id } = await startHolder();
  await kill(dead);
  const lock = await mustTake();
  const late = await startListener(at('fresh'));
  const own = idOf(late);
  await rename(at('fresh'), at(own));
  await symlink(own, at(`after-${id}`));
  await expect(take()).rejects.toMatchObject({ why: 'held', pid: process.pid });
  await lock.release();
  expect(await whyNot()).toBe('taken');
});

test('paths of any length do, here and where a process cannot name its open folders', async () => {
  const long = join(folder, ...Array.from({ length: 4 }, (_, index) => `${index}`.repeat(60)));
  await mkdir(long, { recursive: true });
  for (const system of [platform, 'darwin']) {
    Object.defineProperty(process, 'platform', { value: system });
    const before = (await readdir(tmpdir())).filter((one) => one.startsWith('openaisle-')).length;
    const lock = await mustTake(undefined, long);
    await expect(take(undefined, long)).rejects.toMatchObject({ why: 'held', pid: process.pid });
    expect((await readdir(tmpdir())).filter((one) => one.startsWith('openaisle-')).length).toBeLessThanOrEqual(before);
    await lock.release();
    expect(await readdir(long)).toEqual([]);
  }
});

test('what a third user put in its place is never used, not even a link to what is ours', async () => {
  await mkdir(at());
  await chown(at(), 65_534, 65_534);
  expect(await whyNot()).toBe('foreign');
  await rm(at(), { recursive: true });
  await mkdir(join(folder, 'ours'), { mode: 0o700 });
  await symlink('ours', at());
  expect(await whyNot()).toBe('foreign');
  await rm(at());
  await writeFile(at(), '');
  expect(await whyNot()).toBe('foreign');
  await rm(at());
  expect(await whyNot()).toBe('taken');
});

test('a socket of a third user in a copy of open mode is no holder, and the mode is closed', async () => {
  await mkdir(at(), { mode: 0o777 });
  await chmod(at(), 0o777);
  await chmod(folder, 0o755);
  const child = await startListener(at('fresh'), 65_534);
  const id = idOf(child);
  await rename(at('fresh'), at(id));
  await symlink(id, at('holder'));
  const lock = await mustTake();
  expect((await lstat(at())).mode & 0o777).toBe(0o700);
  await lock.release();
});

test('a lock that was deleted by hand and taken by another is not given up with the first', async () => {
  const first = await mustTake();
  await rm(at(), { recursive: true });
  const { child, id } = await startHolder();
  await first.release();
  expect(await readlink(at('holder')).catch(() => null)).toBe(id);
  await expect(take()).rejects.toMatchObject({ why: 'held', pid: child.pid });
});

test.runIf(platform === 'linux')(
  'a process of the version before keeps it until its end; another user that has its name does not',
  async () => {
    const ours = await startListener(`\0${name}`);
    await expect(take()).rejects.toMatchObject({ why: 'held_by_earlier', pid: ours.pid });
    expect(await readdir(folder)).toEqual([]);
    const waiting = mustTake(AbortSignal.timeout(20_000));
    await kill(ours);
    await (await waiting).release();
    const stranger = await startListener(`\0${name}`, 65_534);
    const lock = await mustTake();
    await expect(take()).rejects.toMatchObject({ why: 'held', pid: process.pid });
    await kill(stranger);
    await lock.release();
  },
);

test.runIf(platform === 'linux')(
  'nor is a user without root’s rights, where it sees that none of its own processes has it',
  async () => {
    const [owner, stranger] = [43_210, 65_534];
    await chown(folder, owner, owner);
    await startListener(`\0${name}`, stranger);
    const place = { folder, name: '.lock', earlier: { name, folder } };
    const program = `const { takeLock } = await import(${JSON.stringify(new URL('./take-lock.ts', import.meta.url).href)});
    process.setgroups([]); process.setgid(${owner}); process.setuid(${owner});
    await takeLock(${JSON.stringify(place)}).then(() => console.log('taken'), ({ why }) => console.log(why)); process.stdin.resume();`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    started.push(child);
    const said = String((await once(child.stdout, 'data'))[0]).trim();
    // In a container some of our own processes may be hidden.
    const seesAll = (await readlink('/proc/self/ns/pid')) === 'pid:[4026531836]';
    expect(said).toBe(seesAll ? 'taken' : 'held_out_of_sight');
    expect(await whyNot()).toBe(seesAll ? 'held' : 'taken');
    await kill(child);
    expect(await whyNot()).toBe('taken');
  },
);

test.runIf(platform === 'linux')(
  'nor does one that changes the socket behind the name all the time',
  async () => {
    await startChanger(name);
    for (let round = 0; round < 3; round += 1) await (await mustTake()).release();
  },
  60_000,
);

test.runIf(platform === 'linux')(
  'a process of the version before finds its name taken while the lock is held, and free after',
  async () => {
    const free = async (): Promise<boolean> => {
      const server = createServer();
      server.listen({ path: `\0${name}` });
      return await once(server, 'listening').then(
        () => new Promise((resolve) => server.close(() => resolve(true))),
        () => false,
      );
    };
    const lock = await mustTake();
    expect(await free()).toBe(false);
    const socket = connect({ path: `\0${name}` }).setEncoding('utf8');
    const [said] = await once(socket, 'data');
    expect(said).toBe('hello');
    await once(socket, 'close');
    await lock.release();
    expect(await free()).toBe(true);
  },
);

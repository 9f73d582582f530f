import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { onServer } from '../../../../test/support/run-postgres.ts';
import { systemClock } from '../../clock.ts';
import { connectClient } from '../connection.ts';
import {
  type EmbeddedPostgres,
  findEmbeddedPostgres,
  linkSharedLibraries,
  placeBinaries,
  startEmbeddedPostgres,
} from '../embedded.ts';
import { openDatabase } from '../open-database.ts';
import { findBinaries, type Launch, launchOptions, runBinary } from './binaries.ts';
import { findUser, type ServerUser } from './server-user.ts';

/** Returns the user as which earlier versions ran PostgreSQL if root started them. Null if this process is not root. */
async function sharedUser(): Promise<ServerUser | null> {
  if (process.getuid?.() !== 0) return null;
  return (await findUser('nobody')) ?? { name: 'nobody', uid: 65_534, gid: 65_534 };
}

interface TrustingCluster {
  cluster: string;
  /** URL that anybody who can reach the socket could use. */
  url: string;
  stop(): Promise<void>;
}

/**
 * Starts a server as versions up to commit 6569f5a did: it trusts everybody who reaches its socket, and belongs to `nobody` if root started
 * it. Its table `kept` holds the number 7.
 */
async function startTrustingCluster(dataDir: string): Promise<TrustingCluster> {
  const user = await sharedUser();
  const home = join(dataDir, 'postgres');
  const cluster = join(home, 'cluster');
  await mkdir(cluster, { recursive: true, mode: 0o711 });
  await chmod(dataDir, 0o711);
  if (user !== null) await chown(cluster, user.uid, user.gid);
  const binaries = await findBinaries();
  const placed = await placeBinaries(binaries, home, user, () => {});
  const libraryPath = await linkSharedLibraries(placed, join(home, `libraries-${binaries.version}`));
  const launch: Launch = { binaries: placed, libraryPath, user };
  await runBinary(launch, 'initdb', [
    ...[`--pgdata=${cluster}`, '--username=openaisle', '--auth-local=trust', '--auth-host=reject', '--encoding=UTF8'],
    ...['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C', '--data-checksums', '--no-instructions'],
  ]);
  const sockets = await mkdtemp(join(tmpdir(), 'openaisle-'));
  if (user !== null) await chown(sockets, user.uid, user.gid);
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${sockets}`,
    'unix_socket_permissions=0700',
    'port=5432',
  ];
  const server = spawn(`${placed}/bin/postgres`, ['-D', cluster, ...settings.flatMap((setting) => ['-c', setting])], {
    ...launchOptions(launch),
    stdio: 'ignore',
    detached: true,
  });
  const ended = once(server, 'exit');
  while (!(await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => '')).includes('ready'))
    await systemClock.sleep(10);
  const url = (database: string): string =>
    `postgres://openaisle@localhost:5432/${database}?host=${encodeURIComponent(sockets)}&sslmode=disable`;
  await onServer(url('postgres'), 'create database openaisle');
  await onServer(url('openaisle'), 'create table kept as select 7 as n');
  return {
    cluster,
    url: url('openaisle'),
    stop: async () => {
      server.kill('SIGINT');
      await ended;
      await rm(sockets, { recursive: true, force: true });
    },
  };
}

let dataDir: string;
let started: EmbeddedPostgres[];
let lines: string[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'openaisle-embedded-'));
  started = [];
  lines = [];
});

afterEach(async () => {
  for (const postgres of started) await postgres.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const home = (...path: string[]): string => join(dataDir, 'postgres', ...path);

async function start(): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, log: (line) => lines.push(line) });
  started.push(postgres);
  return postgres;
}

/** Returns the outcome of a connection attempt with that password, or without one. */
async function tryConnecting(url: string, password: string | null): Promise<string> {
  const address = new URL(url);
  address.password = password ?? '';
  try {
    const client = await connectClient({ url: address.href, statementTimeoutMs: 1_000 });
    await client.end();
    return 'connected';
  } catch (error) {
    return error instanceof Error ? `${'code' in error ? error.code : ''} ${error.message}` : String(error);
  }
}

/** Runs `act` as another user of the machine, or as our own user if this process is not root. */
async function asStranger<T>(act: () => Promise<T>): Promise<T> {
  const stranger = await sharedUser();
  if (stranger === null) return act();
  process.setegid?.(stranger.gid);
  process.seteuid?.(stranger.uid);
  try {
    return await act();
  } finally {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
}

async function expectKept(url: string): Promise<void> {
  const database = await openDatabase({ url });
  expect(await database.rows(sql`select n from kept`)).toEqual([{ n: 7 }]);
  await database.close();
}

async function expectClosed(url: string): Promise<void> {
  const { password } = new URL(url);
  expect(password).toMatch(/^[\w-]{43}$/);
  for (const tried of [null, 'openaisle', `${password.slice(0, -1)}~`]) {
    expect(await asStranger(() => tryConnecting(url, tried))).not.toBe('connected');
    expect(await tryConnecting(url, tried)).toMatch(/28P01|password/);
  }
  expect(await tryConnecting(url, password)).toBe('connected');
  // The password does not help either, because the folder is closed to other users.
  if (process.getuid?.() === 0) expect(await asStranger(() => tryConnecting(url, password))).toContain('EACCES');
  expect(await readFile(home('cluster', 'pg_hba.conf'), 'utf8')).not.toMatch(/^[^#]*\b(?:trust|peer)\b/m);
}

test('a program of another user cannot connect, nor one without the password', async () => {
  const { url } = await start();
  await expectClosed(url);
  expect(await findEmbeddedPostgres(dataDir)).toBe(url);
});

test('as root the server runs as a user of its own, and its files are closed to all others', async () => {
  await start();
  const owner = await stat(home('cluster'));
  expect(owner.mode & 0o777).toBe(0o700);
  if (process.getuid?.() === 0) {
    expect(owner.uid).not.toBe((await sharedUser())?.uid);
    expect(lines.join('\n')).toContain('as openaisle-postgres');
  } else expect(owner.uid).toBe(process.getuid?.());
});

test('the password is kept for this process alone, and shown nowhere', async () => {
  const { url } = await start();
  const { password } = new URL(url);
  const file = await stat(home('password'));
  expect([file.mode & 0o777, file.uid]).toEqual([0o600, process.getuid?.()]);
  const pid = (await readFile(home('cluster', 'postmaster.pid'), 'utf8')).split('\n')[0];
  const shown = [
    ...lines,
    await readFile(home('server.log'), 'utf8'),
    await readFile(home('cluster', 'pg_hba.conf'), 'utf8'),
    await readFile(`/proc/${pid}/cmdline`, 'utf8'),
    await readFile(`/proc/${pid}/environ`, 'utf8'),
  ].join('\n');
  expect(shown).not.toContain(password);
});

test('data of a version that trusted every program of its user is closed at the next start, and nothing of it is lost', async () => {
  const before = await startTrustingCluster(dataDir);
  expect(await asStranger(() => tryConnecting(before.url, null))).toBe('connected');
  await before.stop();
  const { url } = await start();
  await expectKept(url);
  await expectClosed(url);
  if (process.getuid?.() !== 0) return;
  expect(lines.join('\n')).toContain('is given to openaisle-postgres');
  const shared = (await sharedUser())?.uid;
  const entries = await readdir(home('cluster'), { recursive: true });
  for (const entry of entries) expect([entry, (await stat(home('cluster', entry))).uid]).not.toEqual([entry, shared]);
});

test('a server of such a version that still runs is found by commands, and ended by the next start', async () => {
  const before = await startTrustingCluster(dataDir);
  expect(await findEmbeddedPostgres(dataDir)).toBe(before.url);
  const { url } = await start();
  await expectKept(url);
  await expectClosed(url);
});

test('an upgrade that was cut off goes on where it was', async () => {
  const before = await startTrustingCluster(dataDir);
  await before.stop();
  if (process.getuid?.() === 0) {
    await chown(before.cluster, 0, 0);
    await chown(home('cluster', 'base'), 0, 0);
  }
  const { url } = await start();
  await expectKept(url);
  await started.pop()?.stop();
  // As if a start was interrupted between setting the password and saving it, or as if the folder is an older copy.
  await rm(home('password'));
  const again = await start();
  expect(again.url).not.toBe(url);
  await expectKept(again.url);
  await expectClosed(again.url);
});

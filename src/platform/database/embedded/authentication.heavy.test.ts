import { chown, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { sharedUser, startTrustingCluster } from '../../../../test/support/trusting-cluster.ts';
import { connectClient } from '../connection.ts';
import { type EmbeddedPostgres, findEmbeddedPostgres, startEmbeddedPostgres } from '../embedded.ts';
import { openDatabase } from '../open-database.ts';

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

/** What becomes of a connection with that password, or with none. */
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

/** Does something as the user that other programs of the machine run as; as ourselves when that is all this process may. */
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
  // Also with the password: its folder is closed to them.
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
  // The password was set, and not yet kept; or the other way round in an older copy of the folder.
  await rm(home('password'));
  const again = await start();
  expect(again.url).not.toBe(url);
  await expectKept(again.url);
  await expectClosed(again.url);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, type Dirent, openSync } from 'node:fs';
import {
  chown,
  copyFile,
  lchown,
  lstat,
  mkdir,
  readdir,
  readFile,
  readlink,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from 'pg';
import { systemClock } from '../../src/platform/clock.ts';
import { connectClient } from '../../src/platform/database/connection.ts';
import { isUnavailable } from '../../src/platform/database/database-error.ts';
import { type Launch, launchOptions } from '../../src/platform/database/embedded/binaries.ts';
import type { ServerUser } from '../../src/platform/database/embedded/server-user.ts';

interface PostgresRun {
  launch: Launch;
  cluster: string;
  sockets: string;
  /** URL of a database that exists from the start. */
  url: string;
}

export interface RunningPostgres {
  exited: Promise<void>;
  isRunning(): boolean;
  /** Returns the server's log since this start. */
  readLog(): Promise<string>;
  /** Shuts down in fast mode, which rolls back open transactions. */
  stop(): Promise<void>;
}

/** Log message while processes of a killed server are still ending, which takes only a moment. */
const STILL_IN_USE = 'pre-existing shared memory block';

/** Starts a server with its folder's settings and waits until it accepts connections (read-only on a standby). */
export async function runPostgres(run: PostgresRun): Promise<RunningPostgres> {
  const logFile = join(run.sockets, '..', `${run.cluster.replace(/.*\//, '')}.log`);
  for (;;) {
    await rm(logFile, { force: true });
    const log = openSync(logFile, 'a', 0o600);
    const settings = [
      'listen_addresses=',
      `unix_socket_directories=${run.sockets}`,
      'unix_socket_permissions=0700',
      'port=5432',
    ];
    const child = spawn(
      `${run.launch.binaries}/bin/postgres`,
      ['-D', run.cluster, ...settings.flatMap((setting) => ['-c', setting])],
      { ...launchOptions(run.launch), stdio: ['ignore', log, log] },
    );
    closeSync(log);
    const exited = once(child, 'exit').then(() => {});
    let hasEnded = false;
    void exited.then(() => {
      hasEnded = true;
    });
    while (!hasEnded && !(await answers(run.url))) await systemClock.sleep(10);
    if (!hasEnded)
      return {
        exited,
        isRunning: () => !hasEnded,
        readLog: () => readFile(logFile, 'utf8'),
        stop: async () => {
          child.kill('SIGINT');
          await exited;
        },
      };
    const said = await readFile(logFile, 'utf8');
    if (!said.includes(STILL_IN_USE)) throw new Error(`PostgreSQL did not start; it says: ${said}`);
    await systemClock.sleep(100);
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new Client({ connectionString: url });
  // Without a handler, the end of the server would crash this process.
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch (error) {
    if (isUnavailable(error)) return false;
    throw error;
  } finally {
    await client.end();
  }
}

/** Makes a base backup by the low-level API, as PostgreSQL's documentation describes. */
export async function copyCluster(url: string, from: string, to: string, user: ServerUser | null): Promise<void> {
  const client = await connectClient({ url, applicationName: 'openaisle-test', statementTimeoutMs: 0 });
  try {
    await client.query("select pg_backup_start('copy', fast => true)");
    await copyFolder(from, to, user, (path) => LEFT_OUT.some((pattern) => pattern.test(path)));
    const { rows } = await client.query<{ labelfile: string }>(
      'select labelfile from pg_backup_stop(wait_for_archive => false)',
    );
    await writeFile(join(to, 'backup_label'), rows[0]?.labelfile ?? '', { mode: 0o600 });
    // The write-ahead log for the duration of the copy is complete now.
    await copyFolder(join(from, 'pg_wal'), join(to, 'pg_wal'), user, () => false);
    // Drops the source server's `alter system` settings.
    await writeFile(join(to, 'postgresql.auto.conf'), '', { mode: 0o600 });
    for (const name of ['backup_label', 'postgresql.auto.conf'])
      if (user !== null) await chown(join(to, name), user.uid, user.gid);
  } finally {
    await client.end();
  }
}

/** Files that belong to the running server only. Their folders are kept. */
const LEFT_OUT = [
  /^\/postmaster\.(?:pid|opts)$/,
  /^\/(?:pg_wal|pg_replslot|pg_dynshmem|pg_notify|pg_serial|pg_snapshots|pg_stat_tmp|pg_subtrans)\//,
  /\/pgsql_tmp|\/pg_internal\.init/,
];

async function copyFolder(
  from: string,
  to: string,
  user: ServerUser | null,
  isLeftOut: (path: string) => boolean,
  path = '',
): Promise<void> {
  await makeOwn(user, to + path);
  const copy = async (entry: Dirent): Promise<void> => {
    const inner = `${path}/${entry.name}`;
    if (isLeftOut(inner)) return;
    if (entry.isDirectory()) await copyFolder(from, to, user, isLeftOut, inner);
    else await copyEntry(from + inner, to + inner, user).catch(passWhenGone);
  };
  // Copy all at once, because each of the thousand files would otherwise wait for its turn in a busy process.
  await Promise.all((await readdir(from + path, { withFileTypes: true })).map(copy));
}

async function copyEntry(from: string, to: string, user: ServerUser | null): Promise<void> {
  if ((await lstat(from)).isSymbolicLink()) await symlink(await readlink(from), to);
  else await copyFile(from, to);
  if (user !== null) await lchown(to, user.uid, user.gid);
}

/** Ignores files that disappear while the server works; the write-ahead log covers them. */
function passWhenGone(error: unknown): void {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
}

/** Creates a folder that the server accepts as its own. */
export async function makeOwn(user: ServerUser | null, path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  if (user !== null) await chown(path, user.uid, user.gid);
}

/** Kills the PostgreSQL of this cluster and all its processes with SIGKILL, as a power failure would. */
export async function killServer(cluster: string): Promise<void> {
  const postmaster = Number((await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n')[0]);
  // Stop the postmaster first, or it could start a child that the list below misses.
  process.kill(postmaster, 'SIGSTOP');
  const children = await childrenOf(postmaster);
  // Kill the postmaster last. While it lives, a child that exited stays a zombie, so its pid cannot be reused.
  for (const pid of [...children, postmaster]) process.kill(pid, 'SIGKILL');
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter(Number.isInteger);
  const children: number[] = [];
  for (const pid of pids) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    // The name in parentheses may contain anything; state and parent pid follow it.
    const [, ppid] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (Number(ppid) === parent) children.push(pid);
  }
  return children;
}

/** Runs one statement on its own connection, for statements that cannot run in a transaction, such as `create database`. */
export async function onServer(url: string, text: string): Promise<void> {
  const client = await connectClient({ url, applicationName: 'openaisle-test', statementTimeoutMs: 0 });
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

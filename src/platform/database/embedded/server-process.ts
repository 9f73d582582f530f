import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseError } from 'pg';
import { systemClock } from '../../clock.ts';
import { hasEnded, waitForExit, waitForExitWithin } from '../../run-command.ts';
import { connectClient } from '../connection.ts';
import { isUnavailable } from '../database-error.ts';
import { SUPERUSER } from './authentication.ts';
import { type Launch, launchOptions } from './binaries.ts';
import { type Home, SOCKET_PORT } from './prepare-home.ts';

const DATABASE_NAME = 'openaisle';

const POLL_MS = 10;
/** After a crash the server first replays its log, which can take minutes. */
const READY_MS = 300_000;
const FAST_SHUTDOWN_MS = 30_000;
const LOG_BYTES = 8_000_000;
/** The server reports this while processes of a killed server are still exiting, which takes only moments. */
const STILL_IN_USE = 'pre-existing shared memory block';
const STILL_IN_USE_ATTEMPTS = 60;
const STILL_IN_USE_MS = 250;
const INVALID_CATALOG_NAME = '3D000';

export interface SocketAccess {
  folder: string;
  /** Null for a server of an earlier version, which requires no password. */
  secret: string | null;
}

export interface ServerProcess {
  pid: number;
  /** Resolves when the server has exited, for whatever reason. */
  exited: Promise<void>;
  stop(): Promise<void>;
}

/** The URL contains the password, so it must not appear in logs or arguments. */
export function socketUrl({ folder, secret }: SocketAccess, database: string = DATABASE_NAME): string {
  // Set every part, because the driver would take missing ones from PGPORT, PGSSLMODE and the like.
  const user = secret === null ? SUPERUSER : `${SUPERUSER}:${encodeURIComponent(secret)}`;
  return `postgres://${user}@localhost:${SOCKET_PORT}/${database}?host=${encodeURIComponent(folder)}&sslmode=disable`;
}

function serverArguments(cluster: string, socketFolder: string): string[] {
  const settings = {
    listen_addresses: '',
    unix_socket_directories: socketFolder,
    unix_socket_permissions: '0700',
    port: SOCKET_PORT,
    max_connections: 100,
    shared_buffers: '128MB',
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    // The caller reports failed statements. The server's log would contain their values.
    log_min_messages: 'log',
  };
  return ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])];
}

/** Starts the server and waits until it accepts connections and the database exists. */
export async function startServer(home: Home, launch: Launch, access: SocketAccess): Promise<ServerProcess> {
  const logFile = join(home.folder, 'server.log');
  for (let attempt = 1; ; attempt += 1) {
    const logStart = await rotateLog(logFile);
    const { child, exited } = spawnServer(home, launch, access.folder, logFile);
    try {
      await waitUntilReady(child, access);
      return { pid: child.pid ?? 0, exited, stop: () => stopServer(child, exited) };
    } catch (error) {
      await stopServer(child, exited);
      const output = (await readFile(logFile)).subarray(logStart).toString('utf8').trim();
      if (output.includes(STILL_IN_USE) && attempt < STILL_IN_USE_ATTEMPTS) {
        await systemClock.sleep(STILL_IN_USE_MS);
        continue;
      }
      throw new Error(`the embedded PostgreSQL did not start; ${logFile} says: ${output}`, { cause: error });
    }
  }
}

/** Rotates the log and keeps one old file. Returns the offset where new entries begin. */
async function rotateLog(logFile: string): Promise<number> {
  const size = await stat(logFile).then(
    (file) => file.size,
    () => 0,
  );
  if (size < LOG_BYTES) return size;
  await rename(logFile, `${logFile}.1`);
  return 0;
}

function spawnServer(
  home: Home,
  launch: Launch,
  socketFolder: string,
  logFile: string,
): { child: ChildProcess; exited: Promise<void> } {
  const logDescriptor = openSync(logFile, 'a', 0o600);
  const child = spawn(`${launch.binaries}/bin/postgres`, serverArguments(home.cluster, socketFolder), {
    ...launchOptions(launch),
    stdio: ['ignore', logDescriptor, logDescriptor],
    // Use a separate process group: Ctrl-C in the terminal must reach only this process, which finishes its requests first.
    detached: true,
  });
  closeSync(logDescriptor);
  const exited = waitForExit(child);
  return { child, exited };
}

async function waitUntilReady(child: ChildProcess, access: SocketAccess): Promise<void> {
  for (let waitedMs = 0; waitedMs < READY_MS; waitedMs += POLL_MS) {
    if (hasEnded(child)) throw new Error(`it ended with ${child.signalCode ?? child.exitCode ?? 'no process'}`);
    try {
      const client = await connectClient({ url: socketUrl(access), statementTimeoutMs: 0 });
      await client.end();
      return;
    } catch (error) {
      if (error instanceof DatabaseError && error.code === INVALID_CATALOG_NAME) await createDatabase(access);
      else if (!isUnavailable(error)) throw error;
    }
    await systemClock.sleep(POLL_MS);
  }
  throw new Error('it does not answer');
}

async function createDatabase(access: SocketAccess): Promise<void> {
  const client = await connectClient({ url: socketUrl(access, 'postgres'), statementTimeoutMs: 0 });
  try {
    await client.query(`create database ${DATABASE_NAME}`);
  } finally {
    await client.end();
  }
}

/** Requests a fast shutdown, which rolls back open transactions. Committed data is on disk. */
async function stopServer(child: ChildProcess, exited: Promise<void>): Promise<void> {
  if (hasEnded(child)) return;
  child.kill('SIGINT');
  await waitForExitWithin(exited, FAST_SHUTDOWN_MS);
  // Request an immediate shutdown. Acknowledged data is safe, because the next start replays the log.
  if (!hasEnded(child)) child.kill('SIGQUIT');
  await exited;
}

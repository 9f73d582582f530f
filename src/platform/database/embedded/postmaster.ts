import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../clock.ts';
import { nullIfMissing } from '../../data-folder.ts';
import { isAlive } from '../../run-command.ts';

const POLL_MS = 10;
const FAST_SHUTDOWN_MS = 30_000;
const IMMEDIATE_SHUTDOWN_MS = 15_000;

/** Contents of postmaster.pid, which a running server keeps in its data directory. */
export interface Postmaster {
  pid: number;
  socketFolder: string;
  /** Id of the shared memory segment that the server's processes use. */
  memoryId: string;
  ready: boolean;
}

export async function readPostmaster(cluster: string): Promise<Postmaster | null> {
  const text = (await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(nullIfMissing)) ?? '';
  const lines = text.split('\n');
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 1) return null;
  return {
    pid,
    socketFolder: lines[4] ?? '',
    memoryId: lines[6]?.trim().split(/\s+/)[1] ?? '',
    ready: lines[7]?.trim() === 'ready',
  };
}

/** Returns true if this process is currently a server on this cluster. After a crash another program may have the process id. */
export async function isServerOf(cluster: string, pid: number): Promise<boolean> {
  if (process.platform === 'linux')
    return readFile(`/proc/${pid}/cmdline`, 'utf8').then(
      (command) => command.split('\0').includes(cluster),
      () => false,
    );
  return promisify(execFile)('ps', ['-p', String(pid), '-o', 'command=']).then(
    ({ stdout }) => stdout.includes(cluster),
    () => false,
  );
}

/**
 * Stops the server that a killed owner left behind, so that the new one runs the current binaries and settings. Call it only while holding
 * the folder's lock, or the server might still have an owner.
 */
export async function stopOrphan(cluster: string, log: (line: string) => void): Promise<void> {
  const orphan = await readPostmaster(cluster);
  if (orphan === null) return;
  if (await isServerOf(cluster, orphan.pid)) {
    log(`stopping the PostgreSQL (process ${orphan.pid}) that an earlier run left behind`);
    await stopServer(cluster, orphan.pid);
  }
  if ((await readPostmaster(cluster)) !== null && isAlive(orphan.pid)) {
    // The server was killed, and its process id belongs to a zombie or by now to another program. PostgreSQL would take it for a running
    // server and refuse to start, so delete the file. PostgreSQL also uses the file to find processes that outlive a killed server, so
    // check for them here.
    if (!(await waitUntil(async () => !(await isAttached(orphan.memoryId)), IMMEDIATE_SHUTDOWN_MS)))
      throw new Error(`processes of a killed PostgreSQL still use ${cluster}: end them first`);
    await rm(join(cluster, 'postmaster.pid'), { force: true });
  }
  if (basename(orphan.socketFolder).startsWith('openaisle-'))
    await rm(orphan.socketFolder, { recursive: true, force: true });
}

async function stopServer(cluster: string, pid: number): Promise<void> {
  const ended = async (): Promise<boolean> => !(await isServerOf(cluster, pid));
  sendSignal(pid, 'SIGINT');
  if (await waitUntil(ended, FAST_SHUTDOWN_MS)) return;
  sendSignal(pid, 'SIGQUIT');
  if (await waitUntil(ended, IMMEDIATE_SHUTDOWN_MS)) return;
  throw new Error(`PostgreSQL process ${pid} of an earlier run on ${cluster} does not stop: end it first`);
}

/** Ignores the error if the process has just exited. */
function sendSignal(pid: number, name: 'SIGINT' | 'SIGQUIT'): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Returns true if any process uses that shared memory segment. Only Linux shows this; returns false elsewhere. */
async function isAttached(memoryId: string): Promise<boolean> {
  const segments = await readFile('/proc/sysvipc/shm', 'utf8').catch(() => '');
  const [, id, , , , , attached] =
    segments
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .find((fields) => fields[1] === memoryId) ?? [];
  return id !== undefined && attached !== '0';
}

async function waitUntil(condition: () => Promise<boolean>, limitMs: number): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += POLL_MS) {
    if (await condition()) return true;
    await systemClock.sleep(POLL_MS);
  }
  return condition();
}

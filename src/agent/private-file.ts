import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { link, lstat, mkdir, open, rename, rm, rmdir, stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { type AgentError, refusedFile } from './agent-error.ts';
import { lookAt, waitForEnd } from './environment.ts';

const FORBIDDEN = new Set(['EPERM', 'EACCES', 'EAFNOSUPPORT', 'EPROTONOSUPPORT', 'ENOSYS']);

export interface LockOptions {
  /** Waits until the file is free or this is aborted. Without it a file in use is refused at once. */
  until?: AbortSignal;
  /** Refuses where the system gives no lock, instead of going on without one. */
  needed?: boolean;
}

export interface FileLock {
  release(): Promise<void>;
}

/**
 * Makes this process the only one that works on a file, and this call the only one in its process. The lock is a listening socket named
 * after the file: the kernel lets one process have the name and takes it back when that process dies, however it dies. It does not reach
 * across machines and containers. Throws `file_in_use`; with `needed`, also `no_lock`.
 */
export async function lockFile(path: string, { until, needed = false }: LockOptions = {}): Promise<FileLock> {
  const name = await socketName(path);
  for (let attempt = 1; ; attempt += 1) {
    const lock = await listen(name);
    if (lock === 'forbidden') {
      if (!needed) return { release: async () => {} };
      throw refusedFile('This system gives no lock on files', 'Run it outside of the sandbox.', 'no_lock');
    }
    if (lock !== null) return lock;
    const before = await inodeOf(name);
    const seen = until === undefined ? await lookAt(name) : await waitForEnd(name, until);
    const isOver = until === undefined ? attempt >= 3 : until.aborted;
    if (seen === 'held' || isOver)
      throw refusedFile(
        `Another openaisle is working on ${path}`,
        'Wait until it has ended, then run this again.',
        'file_in_use',
      );
    // Only names in the file system outlive their process; one that ends in order takes its name along.
    if (seen === 'stale' && before !== null) await dropStale(name, before);
  }
}

async function inodeOf(name: string): Promise<bigint | null> {
  if (name.startsWith('\0')) return null;
  return await lstat(name, { bigint: true }).then(
    ({ ino }) => ino,
    () => null,
  );
}

let asides = 0;

/**
 * Takes a name away at which no process listens. Another process may have done so before and listen there by now: it is looked at after
 * it was set aside, and put back.
 */
async function dropStale(name: string, inode: bigint): Promise<void> {
  asides += 1;
  const aside = `${name}.${process.pid}.${asides}`;
  const isMoved = await rename(name, aside).then(
    () => true,
    () => false,
  );
  if (!isMoved) return;
  if ((await inodeOf(aside)) !== inode) await link(aside, name).catch(() => {});
  await rm(aside, { force: true });
}

async function socketName(path: string): Promise<string> {
  // The folder's identity, not its spelling: one file may be named in many ways.
  const { dev, ino } = await stat(dirname(path), { bigint: true });
  const of = createHash('sha256')
    .update(`${dev}-${ino}-${basename(path)}`)
    .digest('hex')
    .slice(0, 32);
  const name = `openaisle-${of}`;
  if (process.platform === 'linux') return `\0${name}`;
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : join(await socketFolder(), `${name}.sock`);
}

/**
 * One for all processes of this user: the folder for temporary files is another where a host hands on no TMPDIR, and a lock there would
 * exclude none of those elsewhere. Short, since the path of a socket has about a hundred bytes.
 */
async function socketFolder(): Promise<string> {
  const self = process.getuid?.() ?? 0;
  const folder = `/tmp/openaisle-${self}`;
  await mkdir(folder, { mode: 0o700 }).catch(() => {});
  const found = await lstat(folder);
  if (found.isDirectory() && found.uid === self && (found.mode & 0o077) === 0) return folder;
  throw refusedFile(
    `${folder} does not belong to this user alone`,
    'Remove it: locks of files are kept there.',
    'no_lock',
  );
}

/** Null when another process has the name. Forbidden: a sandbox without local sockets; there the look before each write has to do. */
async function listen(name: string): Promise<FileLock | 'forbidden' | null> {
  const waiting = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    waiting.add(socket.unref());
    socket.on('error', () => {}).once('close', () => waiting.delete(socket));
    socket.resume();
  });
  server.unref();
  server.listen({ path: name, exclusive: true });
  try {
    await once(server, 'listening');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'EADDRINUSE') return null;
    if (FORBIDDEN.has(code)) return 'forbidden';
    throw error;
  }
  return {
    release: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const socket of waiting) socket.destroy();
      await closed;
    },
  };
}

const LARGEST_BYTES = 65_536;

/** The text of a file that its owner alone can read; null where there is none. Throws `file_refused`. */
export async function readPrivate(path: string, largestBytes = LARGEST_BYTES): Promise<string | null> {
  // A link would be replaced by the next write, and what it leads to would stay behind as it is.
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') throw refusedFile(`${path} is a symbolic link`, 'Name the file itself.');
    throw error;
  });
  if (file === null) return null;
  try {
    const { mode, size, uid } = await file.stat();
    if ((mode & 0o170000) !== 0o100000) throw refusedFile(`${path} is not a file`);
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw refusedFile(
        `${path} can be read or written by others (mode ${(mode & 0o777).toString(8).padStart(4, '0')})`,
        `chmod 600 ${path} — and if others use this machine, treat what is in it as leaked: openaisle rotate.`,
      );
    const self = process.getuid?.();
    if (self !== undefined && self !== 0 && uid !== self) throw refusedFile(`${path} belongs to another user`);
    if (size > largestBytes) throw refusedFile(`${path} is too large for what it should be`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Errors of file systems that know no second name for a file. */
const NO_LINKS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/** On the disk with every folder above it that had to be made. Answers with those that were, the innermost first. */
export async function makeFolderOf(path: string): Promise<string[]> {
  const folder = dirname(path);
  const first = await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw unwritable(folder, error);
  });
  const made: string[] = [];
  if (first === undefined) return made;
  for (let one = folder; one.length >= first.length; one = dirname(one)) made.push(one);
  for (const one of made) await syncFolderOf(one);
  return made;
}

/** Takes away folders that were made for nothing. One that holds something by now stays, and those around it. */
export async function removeEmpty(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const isGone = await rmdir(folder).then(
      () => true,
      () => false,
    );
    if (!isGone) return;
  }
}

/** Whether the file can be written, found out before anything depends on it. The caller holds the file's lock. */
export async function mustBeWritable(path: string): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    await rm(temporary, { force: true });
    await (await open(temporary, 'wx', 0o600)).close();
    await rm(temporary);
  } catch (error) {
    throw unwritable(dirname(path), error);
  }
}

function unwritable(folder: string, error: unknown): AgentError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return refusedFile(
    `Nothing can be written into ${folder} (${code})`,
    'Name a file in another folder, or mend this one. Then run the same command again.',
    'file_not_writable',
  );
}

/**
 * The text or bytes under that name, readable by its owner alone, whole and on the disk before this resolves: whatever stops the machine leaves the
 * old file or the new one. `new` never takes the place of a file. The caller holds the file's lock.
 */
export async function writePrivate(path: string, text: string | Uint8Array, how: 'new' | 'replace'): Promise<void> {
  const temporary = `${path}.tmp`;
  // Left by a process that was killed in the middle: the lock says that no process writes it now.
  await rm(temporary, { force: true });
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  if (how === 'replace') await rename(temporary, path);
  else await placeNew(temporary, path);
  await syncFolderOf(path);
}

/** Also where it is gone by now. */
export async function removePrivate(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncFolderOf(path);
}

async function placeNew(from: string, path: string): Promise<void> {
  try {
    await link(from, path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'EEXIST') {
      await rm(from);
      throw refusedFile(`${path} exists already`, 'Name another file.', 'file_exists');
    }
    if (!NO_LINKS.has(code)) throw error;
    await rename(from, path);
    return;
  }
  await rm(from);
}

/** A name is on the disk only when its folder is. Windows knows no such thing. */
async function syncFolderOf(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

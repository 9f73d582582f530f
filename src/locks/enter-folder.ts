import { existsSync } from 'node:fs';
import { constants, type FileHandle, mkdtemp, open, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { codeOf, LockFailure } from './lock-failure.ts';

export interface LockFolder {
  path: string;
  /** Ids of the users that may own the folder: those of this process, of the surrounding folder, and root. */
  owners: ReadonlySet<number>;
}

/**
 * Runs `act` with a path to the folder that is short enough for sockets and valid until `act` returns. Throws a `LockFailure`: `foreign` if
 * the path belongs to another user or is not a folder, `unsupported` if the mode of the folder does not protect it. Also throws errors of
 * the file system.
 */
export async function enterFolder<T>({ path, owners }: LockFolder, act: (at: string) => Promise<T>): Promise<T> {
  const folder = await openFolder(path);
  try {
    const { uid, mode } = await folder.stat();
    if (!owners.has(uid)) throw new LockFailure('foreign', { path });
    // The folder may be a copy that lost its mode, or may lie on a file system without modes.
    if ((mode & 0o077) !== 0 && uid === process.getuid?.()) await folder.chmod(0o700);
    if (((await folder.stat()).mode & 0o022) !== 0) throw new LockFailure('unsupported', { path });
    // Refers to this folder even if its path is replaced.
    const own = `/proc/self/fd/${folder.fd}`;
    if (process.platform === 'linux' && existsSync(own)) return await act(own);
    return await withShortPath(path, act);
  } finally {
    await folder.close();
  }
}

async function openFolder(path: string): Promise<FileHandle> {
  try {
    return await open(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (cause) {
    if (['ELOOP', 'ENOTDIR', 'EACCES'].includes(codeOf(cause))) throw new LockFailure('foreign', { path, cause });
    throw cause;
  }
}

/** The lowest limit of any system for the path of a socket, without the terminating zero. */
const MAX_PATH_BYTES = 103;
/** Longest name of a socket, including the slash before it. */
const MAX_NAME_BYTES = 40;

async function withShortPath<T>(folder: string, act: (short: string) => Promise<T>): Promise<T> {
  if (Buffer.byteLength(folder) + MAX_NAME_BYTES <= MAX_PATH_BYTES) return await act(folder);
  const temporary = await mkdtemp(join(tmpdir(), 'openaisle-'));
  try {
    const short = join(temporary, 'd');
    await symlink(resolve(folder), short);
    return await act(short);
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

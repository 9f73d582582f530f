import { link, lstat, mkdir, open, rename, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { formed, ofOwner, own } from '../contract/own-words.ts';
import { type AgentError, refusedFile } from './agent-error.ts';
import { codeOf, readOwnFile, SECRET_RULES } from './own-file.ts';

/** Reads a file that only its owner can read. Returns null if there is none. Throws `file_refused`. */
export async function readPrivate(path: string, largestBytes = SECRET_RULES.largestBytes): Promise<string | null> {
  const read = await readOwnFile(path, { ...SECRET_RULES, largestBytes });
  if (read === null) return null;
  if ('text' in read) return read.text;
  throw refusedFile(read.fault.why, read.fault.nextStep);
}

/** Errors of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/** Creates the file's folder with its parents, durably. Returns the created folders, innermost first. */
export async function makeFolderOf(path: string): Promise<string[]> {
  const folder = dirname(path);
  const first = await mkdir(folder, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw unwritableFolder(folder, error);
  });
  const made: string[] = [];
  if (first === undefined) return made;
  for (let one = folder; one.length >= first.length; one = dirname(one)) made.push(one);
  for (const one of made) await syncFolderOf(one);
  return made;
}

/** Removes folders, innermost first, until one is not empty. */
export async function removeEmpty(folders: readonly string[]): Promise<void> {
  try {
    for (const folder of folders) await rmdir(folder);
  } catch {
    // A folder that isn't empty stays, and so do its parents.
  }
}

/** Throws if the file can't be written. The caller holds the file's lock. */
export async function mustBeWritable(path: string): Promise<void> {
  const temporary = `${path}.tmp`;
  try {
    await rm(temporary, { force: true });
    await (await open(temporary, 'wx', 0o600)).close();
    await rm(temporary);
  } catch (error) {
    throw unwritableFolder(dirname(path), error);
  }
}

function unwritableFolder(folder: string, error: unknown): AgentError {
  const code = codeOf(error) ?? 'unknown';
  return refusedFile(
    own`${ofOwner(folder)} isn’t writable (${formed('code', code)})`,
    own`Name a file in another folder, or make this one writable. Then run the same command again.`,
    'file_not_writable',
  );
}

/**
 * Writes a file atomically and durably, mode 0600: a crash leaves the old file or the new one. `new` refuses to overwrite a file; on
 * file systems without hard links it looks for one first. The caller holds the file's lock.
 */
export async function writePrivate(path: string, text: string | Uint8Array, how: 'new' | 'replace'): Promise<void> {
  const temporary = `${path}.tmp`;
  // A killed process may have left this temporary file. The lock ensures that nobody else is writing it.
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

/** Removes the file durably; it may be gone already. */
export async function removePrivate(path: string): Promise<void> {
  await rm(path, { force: true });
  await syncFolderOf(path);
}

async function placeNew(from: string, path: string): Promise<void> {
  if (await moveToNew(from, path)) return;
  await rm(from);
  throw takenFile(path);
}

export function takenFile(path: string): AgentError {
  return refusedFile(own`${ofOwner(path)} already exists`, own`Name another file.`, 'file_exists');
}

/** Moves a file to a name that isn't taken. Returns false and leaves both as they are if it is. The caller holds the name's lock. */
export async function moveToNew(from: string, path: string): Promise<boolean> {
  try {
    await link(from, path);
  } catch (error) {
    const code = codeOf(error) ?? '';
    if (code === 'EEXIST') return false;
    if (!NO_LINKS.has(code)) throw error;
    // Without hard links, a rename would replace an existing file. The lock keeps other processes of ours from making one meanwhile.
    if ((await lstat(path).catch(() => null)) !== null) return false;
    await rename(from, path);
    return true;
  }
  await rm(from);
  return true;
}

/** Makes a created or removed name durable. Windows can't sync folders. */
export async function syncFolderOf(path: string): Promise<void> {
  if (process.platform === 'win32') return;
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

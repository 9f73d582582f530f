import { link, mkdir, open, rename, rm, rmdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { formed, ofOwner, own } from '../contract/own-words.ts';
import { type AgentError, refusedFile } from './agent-error.ts';
import { readOwnFile, SECRET_RULES } from './own-file.ts';

/** The text of a file that its owner alone can read; null where there is none. Throws `file_refused`. */
export async function readPrivate(path: string, largestBytes = SECRET_RULES.largestBytes): Promise<string | null> {
  const read = await readOwnFile(path, { ...SECRET_RULES, largestBytes });
  if (read === null) return null;
  if ('text' in read) return read.text;
  throw refusedFile(read.fault.why, read.fault.nextStep);
}

/** Errors of file systems that know no second name for a file. */
const NO_LINKS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/** On the disk with every folder above it that had to be made. Answers with those that were, the innermost first. */
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
    throw unwritableFolder(dirname(path), error);
  }
}

function unwritableFolder(folder: string, error: unknown): AgentError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return refusedFile(
    own`Nothing can be written into ${ofOwner(folder)} (${formed('code', code)})`,
    own`Name a file in another folder, or mend this one. Then run the same command again.`,
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
      throw refusedFile(own`${ofOwner(path)} exists already`, own`Name another file.`, 'file_exists');
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

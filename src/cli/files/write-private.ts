import { link, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { wrongUse } from '../cli-error.ts';

/** Errors of file systems that know no second name for a file. */
const NO_LINKS = new Set(['EPERM', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']);

/** On the disk with every folder above it that had to be made. */
export async function makeFolderOf(path: string): Promise<void> {
  const folder = dirname(path);
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await syncFolderOf(made);
}

/**
 * The text under that name, readable by its owner alone, whole and on the disk before this resolves: whatever stops the machine leaves the
 * old file or the new one. `new` never takes the place of a file. The caller holds the file's lock.
 */
export async function writePrivate(path: string, text: string, how: 'new' | 'replace'): Promise<void> {
  const beside = `${path}.tmp`;
  // Left by a process that was killed in the middle: the lock says that no process writes it now.
  await rm(beside, { force: true });
  const file = await open(beside, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  if (how === 'replace') await rename(beside, path);
  else await placeNew(beside, path);
  await syncFolderOf(path);
}

export async function removePrivate(path: string): Promise<void> {
  await rm(path);
  await syncFolderOf(path);
}

async function placeNew(from: string, path: string): Promise<void> {
  try {
    await link(from, path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'EEXIST') {
      await rm(from);
      throw wrongUse(`${path} exists already`, 'Name another file.', 'file_exists');
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

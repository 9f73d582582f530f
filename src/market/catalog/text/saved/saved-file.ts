import { mkdir, open, rename, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { FolderInUse, lockDataFolder, nullIfMissing } from '../../../../platform/data-folder.ts';
import { syncFolder } from '../../../../platform/pepper.ts';
import { type BlockWriter, createBlockWriter } from './blocks.ts';
import { type ReadIndex, type Reading, readIndex } from './read-index.ts';

const NAME = 'index';
/** A file that is not finished. A crash may leave it; the next start removes it. */
const UNFINISHED = 'index.new';

/** Changes whenever another file takes the name. Null without a file. */
export type FileVersion = string | null;

export async function fileVersion(folder: string): Promise<FileVersion> {
  const file = await stat(join(folder, NAME), { bigint: true }).catch(nullIfMissing);
  return file && `${file.ino} ${file.mtimeNs} ${file.size}`;
}

/** Returns null without a file. Processes may read while another one writes: each sees a whole file. */
export async function readSavedFile(folder: string, reading: Reading): Promise<ReadIndex | null> {
  const handle = await open(join(folder, NAME), 'r').catch(nullIfMissing);
  if (handle === null) return null;
  try {
    return await readIndex(handle, reading);
  } finally {
    await handle.close();
  }
}

/** Removes what a killed process left, unless another process is writing. */
export async function removeUnfinished(folder: string): Promise<void> {
  const path = join(folder, UNFINISHED);
  if ((await stat(path).catch(nullIfMissing)) === null) return;
  await withLock(folder, () => rm(path, { force: true }));
}

export interface FileToWrite {
  /** The version that the caller has seen last. */
  known: FileVersion;
  /** About the size of the new file. */
  bytes: number;
  signal: AbortSignal;
}

/**
 * Replaces the file, which only one process does at a time. Returns `busy` if another process does, and `newer` if another one has done it
 * since the known version. If it throws, or the process is killed, the earlier file stays.
 */
export async function writeSavedFile(
  folder: string,
  { known, bytes, signal }: FileToWrite,
  fill: (writer: BlockWriter) => Promise<void>,
): Promise<'written' | 'busy' | 'newer'> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const outcome = await withLock(folder, async () => {
    if ((await fileVersion(folder)) !== known) return 'newer';
    await refuseFullDisk(folder, bytes);
    await replaceFile(folder, signal, fill);
    return 'written';
  });
  return outcome ?? 'busy';
}

/** Leaves as much room as the file takes, because the database may be on the same disk and stops when it is full. */
async function refuseFullDisk(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const needed = bytes * 2;
  if (bavail * bsize < needed) throw new Error(`the disk has less than ${Math.ceil(needed / 1e6)} MB free`);
}

/** Returns null if another process holds the lock. */
async function withLock<T>(folder: string, act: () => Promise<T>): Promise<T | null> {
  const lock = await lockDataFolder(folder, folder).catch((error: unknown) => {
    if (error instanceof FolderInUse) return null;
    throw error;
  });
  if (lock === null) return null;
  try {
    return await act();
  } finally {
    await lock.release();
  }
}

async function replaceFile(
  folder: string,
  signal: AbortSignal,
  fill: (writer: BlockWriter) => Promise<void>,
): Promise<void> {
  const path = join(folder, UNFINISHED);
  try {
    const handle = await open(path, 'w', 0o600);
    try {
      await fill(createBlockWriter(handle, signal));
      await handle.sync();
    } finally {
      await handle.close();
    }
    signal.throwIfAborted();
    await rename(path, join(folder, NAME));
    await syncFolder(folder);
  } catch (error) {
    await rm(path, { force: true }).catch(() => {});
    throw error;
  }
}

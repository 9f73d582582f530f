import { execFile } from 'node:child_process';
import { chmod, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface SmallDisk {
  folder: string;
  /** Takes all the room that is left, to the last block. */
  fill(): Promise<void>;
  /** Gives it back. */
  empty(): Promise<void>;
  /** Call it once no process has a file open there. */
  remove(): Promise<void>;
}

const CHUNKS = [1_048_576, 65_536, 4_096];

/** A disk of so many megabytes, in memory. */
export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'openaisle-disk-'));
  await promisify(execFile)('mount', [
    '-t',
    'tmpfs',
    '-o',
    `size=${megabytes}m,mode=0711`,
    'openaisle-test',
    folder,
  ]).catch(async (cause: unknown) => {
    await rm(folder, { recursive: true });
    throw new Error(
      'this test fills a small disk, and may not mount one (mount -t tmpfs): run it as root, in a container with the capability SYS_ADMIN',
      { cause },
    );
  });
  await chmod(folder, 0o711);
  const ballast = join(folder, 'ballast');
  return {
    folder,
    fill: async () => {
      const file = await open(ballast, 'a');
      for (const bytes of CHUNKS) while (await takes(file.appendFile(Buffer.alloc(bytes))));
      await file.close();
    },
    empty: () => rm(ballast, { force: true }),
    remove: async () => {
      await promisify(execFile)('umount', [folder]);
      await rm(folder, { recursive: true });
    },
  };
}

async function takes(write: Promise<void>): Promise<boolean> {
  return write.then(
    () => true,
    (error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false;
      throw error;
    },
  );
}

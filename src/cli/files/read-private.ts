import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { wrongUse } from '../cli-error.ts';

const LARGEST_BYTES = 65_536;

/** The text of a file that its owner alone can read; null where there is none. */
export async function readPrivate(path: string): Promise<string | null> {
  // A link would be replaced by the next write, and what it leads to would stay behind as it is.
  const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0)).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') throw wrongUse(`${path} is a symbolic link`, 'Name the file itself.', 'file_refused');
    throw error;
  });
  if (file === null) return null;
  try {
    const { mode, size, uid } = await file.stat();
    if ((mode & 0o170000) !== 0o100000) throw wrongUse(`${path} is not a file`, undefined, 'file_refused');
    if (process.platform !== 'win32' && (mode & 0o077) !== 0)
      throw wrongUse(
        `${path} can be read or written by others (mode ${(mode & 0o777).toString(8).padStart(4, '0')})`,
        `chmod 600 ${path} — and if others use this machine, treat what is in it as leaked: openaisle rotate.`,
        'file_refused',
      );
    const self = process.getuid?.();
    if (self !== undefined && self !== 0 && uid !== self)
      throw wrongUse(`${path} belongs to another user`, undefined, 'file_refused');
    if (size > LARGEST_BYTES) throw wrongUse(`${path} is too large for what it should be`, undefined, 'file_refused');
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

import { open } from 'node:fs/promises';

/** Reads a file with a secret, null if there is none. Throws if others could read it. `what` names the secret in errors. */
export async function readPrivate(file: string, what: string): Promise<string | null> {
  const handle = await open(file, 'r').catch((error: unknown) => {
    if (hasCode(error, 'ENOENT')) return null;
    throw error;
  });
  if (handle === null) return null;
  try {
    checkPrivate(`the ${what} file ${file}`, await handle.stat());
    return await handle.readFile('utf8');
  } finally {
    await handle.close();
  }
}

/** Requires that nobody but the owner can read the file, except one group of this process, because orchestrators mount secrets that way. */
function checkPrivate(file: string, { mode, gid }: { mode: number; gid: number }): void {
  if ((mode & 0o077) === 0) return;
  const shown = (mode & 0o777).toString(8).padStart(4, '0');
  if ((mode & 0o777) !== 0o440)
    throw new Error(
      `${file} has mode ${shown}, so other users can read it. Set it to 0600 or 0400, or to 0440 with a group of this process`,
    );
  const own = [process.getegid?.(), ...(process.getgroups?.() ?? [])];
  if (!own.includes(gid))
    throw new Error(
      `${file} has mode 0440 and group ${gid}, which is not a group of this process. Change its group, or set it to 0400`,
    );
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

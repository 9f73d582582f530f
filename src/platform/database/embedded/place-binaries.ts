import { chmod, cp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Binaries } from './find-binaries.ts';
import { blockingFolder } from './server-user.ts';
import type { ServerUser } from './system-user.ts';

/** Where the server's user can run the binaries from: in place, or a copy next to the data, made once per version. */
export async function placeBinaries(
  binaries: Binaries,
  home: string,
  user: ServerUser | null,
  log: (line: string) => void,
): Promise<string> {
  if (user === null || (await canRunIn(binaries.folder, user))) return binaries.folder;
  const copy = join(home, `binaries-${binaries.version}`);
  if (await isThere(copy)) return copy;
  log(`copying the PostgreSQL binaries to ${copy}: ${user.name} may not read ${binaries.folder}`);
  const partial = `${copy}.partial`;
  await rm(partial, { recursive: true, force: true });
  await cp(binaries.folder, partial, { recursive: true, verbatimSymlinks: true });
  await openToAll(partial);
  await rename(partial, copy);
  return copy;
}

async function canRunIn(folder: string, user: ServerUser): Promise<boolean> {
  const { mode } = await stat(join(folder, 'bin', 'postgres'));
  return (mode & 0o005) === 0o005 && (await blockingFolder(join(folder, 'lib'), user)) === null;
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Lets everybody read and pass, whatever mask the packages were installed under. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await openToAll(path);
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644);
  }
}

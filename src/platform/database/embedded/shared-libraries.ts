import { mkdir, readFile, rm, symlink } from 'node:fs/promises';
import { basename, join } from 'node:path';

/**
 * The package ships its libraries under full version names and leaves the short names to an install script, which may
 * be off. Makes the short names in a folder of our own and returns what goes into LD_LIBRARY_PATH.
 */
export async function linkSharedLibraries(binaries: string, folder: string): Promise<string> {
  const lib = join(binaries, 'lib');
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true, mode: 0o755 });
  const links = await readFile(join(binaries, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  for (const { source, target } of JSON.parse(links) as { source: string; target: string }[]) {
    // Other links than those of libraries do not matter to a server.
    if (source.startsWith('native/lib/')) await symlink(join(lib, basename(source)), join(folder, basename(target)));
  }
  return `${folder}:${lib}`;
}

import { lchown, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from '../../is-missing.ts';
import type { Home } from './prepare-home.ts';
import type { ServerUser } from './system-user.ts';

/**
 * Gives data that an earlier version left with a shared user to the server's own one. No server may run on it. The folder
 * itself is root's meanwhile, so that the earlier owner's programs cannot enter any more; a start that is cut off here is
 * followed by one that begins again.
 */
export async function takeOver({ cluster, user }: Home, log: (line: string) => void): Promise<void> {
  if (user === null) return;
  const owner = await lstat(cluster).catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (owner === null || owner.uid === user.uid) return;
  log(`the database in ${cluster} belongs to user id ${owner.uid} and is given to ${user.name} (${user.uid})`);
  await lchown(cluster, 0, 0);
  await giveContent(cluster, user);
  await lchown(cluster, user.uid, user.gid);
}

async function giveContent(folder: string, user: ServerUser): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    const { nlink } = await lstat(path);
    // PostgreSQL makes no second names. One that is there may be of another program's file, which is not given away.
    if (!entry.isDirectory() && nlink > 1)
      throw new Error(`${path} is a file with more than one name: it is not PostgreSQL's; remove it and start again`);
    // A link stays what it is: what it points to is not followed.
    await lchown(path, user.uid, user.gid);
    if (entry.isDirectory()) await giveContent(path, user);
  }
}

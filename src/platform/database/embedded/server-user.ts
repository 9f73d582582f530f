import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from './is-missing.ts';

/** Whom the server runs as when this process is root, which PostgreSQL refuses. */
export interface ServerUser {
  name: string;
  uid: number;
  gid: number;
}

/** Null when the server can run as this process's own user. Existing data keeps the user that owns it. */
export async function serverUser(cluster: string): Promise<ServerUser | null> {
  const ownUid = process.getuid?.();
  const owner = await stat(cluster).catch(nullWhenMissing);
  if (ownUid !== 0) {
    if (owner !== null && ownUid !== undefined && owner.uid !== ownUid)
      throw new Error(
        `the database in ${cluster} belongs to user id ${owner.uid} and this process runs as ${ownUid}: ` +
          'start it as the user (or as root, if root made it) that started it first',
      );
    return null;
  }
  if (owner !== null && owner.uid !== 0) return { name: `user id ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  return nobody();
}

async function nobody(): Promise<ServerUser> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const fields = passwd
    .split('\n')
    .find((line) => line.startsWith('nobody:'))
    ?.split(':');
  // Some systems write -2: the same bits, but the kernel takes them without a sign.
  const id = (text: string | undefined): number => (text === undefined ? 65_534 : Number(text) >>> 0);
  return { name: 'nobody', uid: id(fields?.[2]), gid: id(fields?.[3]) };
}

/** The first folder on the way to `path`, itself included, that the user may not pass through; null when there is none. */
export async function blockingFolder(path: string, user: ServerUser): Promise<string | null> {
  const parent = dirname(path);
  if (parent !== path) {
    const above = await blockingFolder(parent, user);
    if (above !== null) return above;
  }
  const { mode, uid, gid } = await stat(path);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  return (mode & bit) === 0 ? path : null;
}

function nullWhenMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

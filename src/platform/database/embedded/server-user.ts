import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMissing } from '../../is-missing.ts';
import { ensureSystemUser, findUser, isKnownUser, type ServerUser, SYSTEM_USER } from './system-user.ts';

/** Where the list of users has no entry for it. */
const NOBODY: ServerUser = { name: 'nobody', uid: 65_534, gid: 65_534 };

/**
 * Null when the server can run as this process's own user. Existing data keeps the user that owns it, unless that is one
 * whose rights other programs have too: see `takeOver`.
 */
export async function serverUser(cluster: string, log: (line: string) => void): Promise<ServerUser | null> {
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
  const nobody = (await findUser(NOBODY.name)) ?? NOBODY;
  // Root's own is data that was on its way to another user when a start was cut off.
  if (owner !== null && owner.uid !== 0 && owner.uid !== nobody.uid) {
    const own = await findUser(SYSTEM_USER);
    if (own?.uid === owner.uid) return own;
    if (await isKnownUser(owner.uid)) return { name: `user id ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  }
  const own = await ensureSystemUser(log);
  if (own !== null) return own;
  log(
    `PostgreSQL runs as ${nobody.name}: other programs that run as ${nobody.name} can reach its files. Make the system user ` +
      `${SYSTEM_USER}, or start as a user without root rights`,
  );
  return nobody;
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

import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { systemClock } from '../../clock.ts';
import { nullIfMissing } from '../../data-folder.ts';

/** Used if /etc/passwd has no such user. */
const NOBODY: ServerUser = { name: 'nobody', uid: 65_534, gid: 65_534 };

/**
 * Returns the user to run the server as. Null if the server can run as this process's user. Data keeps its owner, unless that is a user
 * whom other programs share; see `takeOwnership`.
 */
export async function serverUser(cluster: string, log: (line: string) => void): Promise<ServerUser | null> {
  const ownUid = process.getuid?.();
  const owner = await stat(cluster).catch(nullIfMissing);
  if (ownUid !== 0) {
    if (owner !== null && ownUid !== undefined && owner.uid !== ownUid)
      throw new Error(
        `the database in ${cluster} belongs to user id ${owner.uid} and this process runs as ${ownUid}: ` +
          'start it as the user that started it first (or as root, if root did)',
      );
    return null;
  }
  const nobody = (await findUser(NOBODY.name)) ?? NOBODY;
  // If root owns the data, an interrupted start was about to hand it to another user.
  if (owner !== null && owner.uid !== 0 && owner.uid !== nobody.uid) {
    const own = await findUser(SYSTEM_USER);
    if (own?.uid === owner.uid) return own;
    if (await isKnownUser(owner.uid)) return { name: `user id ${owner.uid}`, uid: owner.uid, gid: owner.gid };
  }
  const own = await ensureSystemUser(log);
  if (own !== null) return own;
  log(
    `PostgreSQL runs as ${nobody.name}, so other programs of that user can read its files. Create the system user ` +
      `${SYSTEM_USER}, or start as a user without root rights`,
  );
  return nobody;
}

/** Returns the first folder on the path, `path` included, that the user may not enter. Null if there is none. */
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

/** Only the database runs as this user, so no other program has its rights. */
const SYSTEM_USER = 'openaisle-postgres';

const USERADD = ['--system', '--user-group', '--no-create-home', '--home-dir', '/nonexistent'];
/** Another start, or an installer, may hold the lock of the user database. */
const ATTEMPTS = 10;
const WAIT_MS = 300;

/** The user that runs the server if this process is root, because PostgreSQL refuses to run as root. */
export interface ServerUser {
  name: string;
  uid: number;
  gid: number;
}

export async function findUser(name: string): Promise<ServerUser | null> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const [, , uid, gid] =
    passwd
      .split('\n')
      .map((line) => line.split(':'))
      .find(([first]) => first === name) ?? [];
  // Some systems write -2. The kernel treats it as an unsigned number.
  return uid === undefined || gid === undefined ? null : { name, uid: Number(uid) >>> 0, gid: Number(gid) >>> 0 };
}

/** Finds or creates the system user, which only root can do. If that fails, logs the reason and returns null. */
async function ensureSystemUser(log: (line: string) => void, command: string = 'useradd'): Promise<ServerUser | null> {
  for (let attempt = 1; ; attempt += 1) {
    const user = await findUser(SYSTEM_USER);
    if (user !== null) return user;
    try {
      await promisify(execFile)(command, [...USERADD, '--shell', '/usr/sbin/nologin', SYSTEM_USER], {
        env: { PATH: '/usr/sbin:/sbin:/usr/bin:/bin', LC_ALL: 'C' },
      });
      log(`started as root: created the system user ${SYSTEM_USER}, which runs only PostgreSQL`);
    } catch (error) {
      const why = error instanceof Error ? (error.message.trim().split('\n').at(-1) ?? '') : String(error);
      const isTransient = /\block\b|already exists/.test(why);
      if (!isTransient || attempt === ATTEMPTS) {
        log(`the system user ${SYSTEM_USER} cannot be created (${why})`);
        return null;
      }
      await systemClock.sleep(WAIT_MS);
    }
  }
}

/** Returns true if the user id has a name, which PostgreSQL requires. */
function isKnownUser(uid: number): Promise<boolean> {
  return promisify(execFile)('id', ['-un', String(uid)]).then(
    () => true,
    () => false,
  );
}

import { chmod, chown, lstat, mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { nullIfMissing } from '../../data-folder.ts';
import { blockingFolder, type ServerUser, serverUser } from './server-user.ts';

/** Used if root starts the server and the server's user may not enter the data folder. */
const COMMON_ROOT = '/var/lib/openaisle';

export interface Home {
  /** Real path of the folder with all files of the server. This process's user owns it. */
  folder: string;
  /** PostgreSQL's own data directory inside `folder`. The server's user owns it. */
  cluster: string;
  user: ServerUser | null;
}

/**
 * Finds or creates `<dataDir>/postgres`. If root starts the server where the server's user cannot enter (below /root or in a private
 * temporary folder), creates the real folder under /var/lib/openaisle and links `postgres` to it.
 */
export async function prepareHome(
  dataDir: string,
  log: (line: string) => void,
  commonRoot: string = COMMON_ROOT,
): Promise<Home> {
  const homePath = join(resolve(dataDir), 'postgres');
  await mkdir(dirname(homePath), { recursive: true });
  const existing = await lstat(homePath).catch(nullIfMissing);
  if (existing === null) await makeHome(homePath, log, commonRoot);
  const folder = await realpath(homePath).catch((cause: unknown) => {
    throw new Error(`${homePath} points to a folder that is gone: restore it, or remove ${homePath} to start empty`, {
      cause,
    });
  });
  const cluster = join(folder, 'cluster');
  const user = await serverUser(cluster, log);
  if (user !== null) {
    // The operator may have restricted the data folder since the first start.
    if (existing?.isDirectory() === true) await allowTraversal(dirname(homePath), user, log);
    const blocked = await blockingFolder(folder, user);
    if (blocked !== null) throw new Error(blockedMessage(blocked, user));
  }
  return { folder, cluster, user };
}

async function makeHome(homePath: string, log: (line: string) => void, commonRoot: string): Promise<void> {
  const user = await serverUser(join(homePath, 'cluster'), log);
  if (user === null) {
    await mkdir(homePath, { recursive: true, mode: 0o700 });
    return;
  }
  const blocked = await allowTraversal(dirname(homePath), user, log);
  if (blocked === null) {
    await makePassable(homePath);
    return;
  }
  let real: string;
  try {
    await makePassable(commonRoot);
    real = await mkdtemp(join(commonRoot, 'postgres-'));
    await chmod(real, 0o711);
  } catch (cause) {
    throw new Error(blockedMessage(blocked, user), { cause });
  }
  if ((await blockingFolder(await realpath(real), user)) !== null) {
    await rm(real, { recursive: true });
    throw new Error(blockedMessage(blocked, user));
  }
  try {
    await symlink(real, homePath);
    log(`the database is in ${real} (linked from ${homePath}), because ${user.name} may not enter ${blocked}`);
  } catch (error) {
    await rm(real, { recursive: true });
    // Another process that starts now has created the link first; use that one.
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
}

/** Lets users pass through the data folder, without listing it, if no other folder blocks the way. Returns what still blocks it. */
async function allowTraversal(dataDir: string, user: ServerUser, log: (line: string) => void): Promise<string | null> {
  const real = await realpath(dataDir);
  const blocked = await blockingFolder(real, user);
  if (blocked !== real) return blocked;
  const { mode } = await lstat(real);
  await chmod(real, (mode & 0o777) | 0o011);
  log(`${real} now lets everybody pass through (mode +x), so that the database can run as ${user.name}`);
  return blockingFolder(real, user);
}

async function makePassable(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o711);
}

function blockedMessage(blocked: string, user: ServerUser): string {
  return (
    `PostgreSQL does not run as root, so it is started as ${user.name}, who may not enter ${blocked}. ` +
    'Keep the data in a folder that everybody may pass through (for example /var/lib/openaisle), ' +
    'or start as a user without root rights, or set DATABASE_URL'
  );
}

/** The lowest limit of any system for the path of a socket, without the terminating zero. */
const MAX_PATH_BYTES = 103;
export const SOCKET_PORT = 5432;

/** Creates a random folder for the socket, which only the server's user and root may enter. Clients also need the password. */
export async function makeSocketFolder(user: ServerUser | null): Promise<string> {
  for (const base of new Set([tmpdir(), '/tmp'])) {
    if (Buffer.byteLength(join(base, `openaisle-123456/.s.PGSQL.${SOCKET_PORT}.lock`)) > MAX_PATH_BYTES) continue;
    if (user !== null && (await blockingFolder(await realpath(base), user)) !== null) continue;
    const folder = await mkdtemp(join(base, 'openaisle-'));
    if (user !== null) await chown(folder, user.uid, user.gid);
    return folder;
  }
  throw new Error(`neither ${tmpdir()} nor /tmp can hold the database's socket: set TMPDIR to a short, passable path`);
}

export async function removeSocketFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

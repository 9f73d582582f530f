import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readdir, readlink, rename, rm, rmdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { enterFolder, type LockFolder } from './enter-folder.ts';
import { codeOf, LockFailure } from './lock-failure.ts';
import { isListenedAt, type Listener, listenAt, waitForEnd } from './sockets.ts';

/*
 * A lock is a folder with mode 0700. A process that wants the lock listens on a socket in the folder, under an id that is never reused. The
 * kernel stops the listening when the process exits, so a dead id stays dead. The link `holder` points to the id of the holder. If that id
 * is dead, the next process creates the link `after-<dead id>`, pointing to its own id. If two processes try, the second finds that the
 * link exists, so each id has at most one successor. The last live id of the chain that starts at `holder` has the lock. Its process points
 * `holder` to itself and cleans up. A slow process may have linked after an id that was cleaned up meanwhile, and is then not in the chain.
 * So each process checks the chain again after linking, and removes a link that came too late.
 */
const HOLDER = 'holder';
/** Process id and 96 random bits. */
const ID = /^\d{1,10}-[0-9a-f]{24}$/;

export interface Lock {
  release(): Promise<void>;
}

interface HeldLock {
  id: string;
  pid: number;
}

/** The folder may disappear this often in a row, because the previous holder deletes it. */
const MAX_MISSES = 50;

/**
 * If the lock is held, waits for it until `until` is aborted; without `until`, throws at once. Throws `LockFailure` and errors of the file
 * system.
 */
export async function takeFolderLock(folder: LockFolder, until?: AbortSignal): Promise<Lock> {
  for (let misses = 0; ; ) {
    try {
      await makeFolder(folder.path);
      const taken = await enterFolder(folder, (at) => tryLock(folder, at));
      if (taken !== null && 'release' in taken) return taken;
      if (taken !== null) {
        if (until === undefined || until.aborted) throw new LockFailure('held', { pid: taken.pid });
        await enterFolder(folder, (at) => waitForEnd(join(at, taken.id), until));
      }
      misses = 0;
    } catch (error) {
      // Listening in a deleted folder fails with EACCES.
      if (!['ENOENT', 'EACCES'].includes(codeOf(error))) throw error;
      misses += 1;
      if (misses > MAX_MISSES) throw new LockFailure('unsupported', { path: folder.path, cause: error });
    }
  }
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(path, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
}

/** Returns null if another process was faster, or has just released the lock. */
async function tryLock(folder: LockFolder, at: string): Promise<Lock | HeldLock | null> {
  const last = await findLast(at);
  if (last !== null && (await isAlive(at, last, folder))) return { id: last, pid: Number.parseInt(last, 10) };
  const own = await openSocket(at);
  const link = join(at, last === null ? HOLDER : successorLink(last));
  try {
    const isMade = await makeLink(own.id, link);
    if (isMade && (await findLast(at)) === own.id) {
      if (last !== null) await pointHolderTo(at, own.id);
      await cleanUp(at, own.id, folder);
      return lockOf(folder, own);
    }
    if (isMade) await rm(link, { force: true });
  } catch (error) {
    await closeSocket(at, own);
    throw error;
  }
  await closeSocket(at, own);
  return null;
}

function lockOf({ path }: LockFolder, own: OwnSocket): Lock {
  return {
    release: async () => {
      try {
        // While this process listens, no other process changes `holder`. But if it was deleted by hand, others may have made a new one.
        if ((await readId(join(path, HOLDER))) === own.id) await rm(join(path, HOLDER), { force: true });
      } finally {
        await closeSocket(path, own);
      }
      // If others are using the folder, the last one deletes it.
      await rmdir(path).catch(() => {});
    },
  };
}

const successorLink = (id: string): string => `after-${id}`;

/** Returns the last id of the chain that starts at `holder`, or null. */
async function findLast(at: string): Promise<string | null> {
  let last: string | null = null;
  for (let id = await readId(join(at, HOLDER)); id !== null; id = await readId(join(at, successorLink(id)))) last = id;
  return last;
}

/** Returns null if there is no link. */
async function readId(link: string): Promise<string | null> {
  const id = await readlink(link).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    if (codeOf(error) === 'EINVAL') throw new LockFailure('foreign', { path: link, cause: error });
    throw error;
  });
  if (id !== null && !ID.test(id)) throw new LockFailure('foreign', { path: link });
  return id;
}

/** Returns false if the name is taken. */
async function makeLink(id: string, path: string): Promise<boolean> {
  try {
    await symlink(id, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

async function isAlive(at: string, name: string, { owners }: LockFolder): Promise<boolean> {
  const entry = await lstat(join(at, name)).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  return entry !== null && owners.has(entry.uid) && (await isListenedAt(join(at, name)));
}

interface OwnSocket {
  id: string;
  listener: Listener;
}

/** Gives the socket its id as name only once it listens, because an id without a listener counts as dead. */
async function openSocket(at: string): Promise<OwnSocket> {
  const id = `${process.pid}-${randomBytes(12).toString('hex')}`;
  const fresh = join(at, `${id}.new`);
  const listener = await listenAt(fresh);
  try {
    await rename(fresh, join(at, id));
  } catch (error) {
    await listener.close();
    await rm(fresh, { force: true });
    throw error;
  }
  return { id, listener };
}

async function closeSocket(at: string, { id, listener }: OwnSocket): Promise<void> {
  await listener.close();
  await rm(join(at, id), { force: true });
}

async function pointHolderTo(at: string, own: string): Promise<void> {
  const temporary = join(at, `${own}.link`);
  await symlink(own, temporary);
  await rename(temporary, join(at, HOLDER));
}

/** Deletes what dead or slow processes left behind. Call it once `holder` points to our own id. */
async function cleanUp(at: string, own: string, folder: LockFolder): Promise<void> {
  for (const name of await readdir(at)) {
    if (name === HOLDER || name === own) continue;
    const isSocket = ID.test(name) || name.endsWith('.new');
    if (isSocket && (await isAlive(at, name, folder))) continue;
    await rm(join(at, name), { force: true });
  }
}

import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, isUnsupported, LockFailure } from './lock-failure.ts';
import { isListenedAt, type Listener, listenAt } from './sockets.ts';

/**
 * The lock of the previous version: a name in the kernel, or a socket elsewhere in the file system. Any user of the machine can take such a
 * name. The name only keeps out processes of that version. On Linux and Windows it also serves as the lock if the folder supports none.
 */
export interface EarlierName {
  /** Name of an abstract socket on Linux, or of a named pipe on Windows. */
  name: string;
  /** Folder of the socket on other systems. */
  folder: string;
  /** Sent to clients before their connection is closed. If omitted, connections stay open. */
  text?: string;
}

export interface NameOptions {
  /** Ids of the users that may own the lock: those of this process and of the surrounding folder. */
  owners: ReadonlySet<number>;
  until?: AbortSignal | undefined;
}

const POLL_MS = 25;
/** How long we retry if the name is taken, because a killed process may take a moment to exit. */
const TIMEOUT_MS = 250;
/** After this many replaced sockets, none of them ours, we give up: another user may replace them faster than we can inspect them. */
const MAX_CHANGES = 12;

/**
 * Takes the name. Returns null if another user listens under it, if its socket keeps being replaced, or if the system has no such names.
 * Throws `LockFailure` if one of our processes holds the name or may hold it.
 */
export async function holdEarlierName(earlier: EarlierName, options: NameOptions): Promise<Listener | null> {
  const { until } = options;
  const seen = new Map<string, Holder>();
  let [changes, waitedMs] = [0, 0];
  for (;;) {
    const taken = await tryName(earlier, options, seen);
    if (taken === null || 'close' in taken) return taken;
    if (taken.by === 'another') changes += 1;
    if (taken.by === 'us') changes = 0;
    if (taken.by === 'stranger' || changes === MAX_CHANGES) return null;
    if (taken.by !== 'another') {
      waitedMs += POLL_MS;
      if (until === undefined ? waitedMs > TIMEOUT_MS : until.aborted) throw failureOf(taken, earlier);
    }
    await sleep(POLL_MS);
  }
}

function failureOf(taken: Holder, { name }: EarlierName): LockFailure {
  if (taken.by === 'us') return new LockFailure('held_by_earlier', { pid: taken.pid });
  return new LockFailure('held_out_of_sight', { path: name });
}

/** `unseen`: the owner cannot be found. `another`: a new socket has replaced the one that we inspected. */
type Holder = { by: 'us'; pid: number | null } | { by: 'stranger' | 'unseen' | 'another' };

async function tryName(
  { name, folder, text }: EarlierName,
  { owners }: NameOptions,
  seen: Map<string, Holder>,
): Promise<Listener | Holder | null> {
  const { platform } = process;
  if (platform !== 'linux' && platform !== 'win32') return await checkSocketFile(join(folder, `${name}.sock`));
  try {
    return await listenAt(platform === 'linux' ? `\0${name}` : `\\\\.\\pipe\\${name}`, text);
  } catch (error) {
    if (isUnsupported(error)) return null;
    if (codeOf(error) !== 'EADDRINUSE') throw error;
  }
  if (platform === 'win32') return { by: 'us', pid: null };
  const inode = await inodeOf(name);
  // The socket has just closed, or /proc does not show the list.
  if (inode === null) return { by: 'unseen' };
  const earlierAnswer = seen.get(inode);
  if (earlierAnswer !== undefined) return earlierAnswer;
  const taken = await findOwner(inode, owners);
  // The socket may have belonged to one of our processes that exited during the search, so do not call its owner a stranger.
  if (taken.by === 'stranger' && (await inodeOf(name)) !== inode) return { by: 'another' };
  seen.set(inode, taken);
  return taken;
}

async function checkSocketFile(path: string): Promise<Holder | null> {
  const entry = await lstat(path).catch(() => null);
  const isOurs = entry?.uid === process.getuid?.();
  return isOurs && (await isListenedAt(path)) ? { by: 'us', pid: null } : null;
}

/** A line of /proc/net/unix for a listening socket with an abstract name: number, references, protocol, flags, type, state, inode, path. */
const LISTENING = /^[0-9a-f]+: [0-9A-F]+ [0-9A-F]+ 00010000 [0-9A-F]+ [0-9A-F]+ +(\d+) @(.*)$/;

/** Returns the inode of the socket that listens under an abstract name, or null. */
async function inodeOf(name: string): Promise<string | null> {
  for (const line of (await readFile('/proc/net/unix', 'utf8').catch(() => '')).split('\n')) {
    const [, inode, path] = LISTENING.exec(line) ?? [];
    if (inode !== undefined && path === name) return inode;
  }
  return null;
}

/** The initial process namespace, which shows every process. */
const ALL_PROCESSES = 'pid:[4026531836]';

/** Finds the process that has the socket open. A process may inspect those of its own user, and root all, unless the system denies it. */
async function findOwner(inode: string, owners: ReadonlySet<number>): Promise<Holder> {
  let isHidden = (await readlink('/proc/self/ns/pid').catch(() => '')) !== ALL_PROCESSES;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const uid = await userOf(pid);
    const isOurs = uid !== null && owners.has(uid);
    // Skip other users: if we can see all of our processes and none has the socket, it belongs to a stranger.
    if (!isOurs && !isHidden) continue;
    const has = await hasSocket(pid, inode);
    if (has === true) return isOurs ? { by: 'us', pid: Number(pid) } : { by: 'stranger' };
    // Node with extra capabilities hides its sockets even from its own user, so the inspected process may be the owner.
    if (has === null && isOurs && pid !== String(process.pid) && (await isNode(pid))) isHidden = true;
  }
  return { by: isHidden ? 'unseen' : 'stranger' };
}

async function userOf(pid: string): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, effective] = /^Uid:\t\d+\t(\d+)/m.exec(status) ?? [];
  return effective === undefined ? null : Number(effective);
}

/** Returns null if we may not inspect the process. */
async function hasSocket(pid: string, inode: string): Promise<boolean | null> {
  const folder = `/proc/${pid}/fd`;
  const names = await readdir(folder).catch((error: unknown) => (codeOf(error) === 'EACCES' ? null : []));
  if (names === null) return null;
  for (const name of names) {
    const target = await readlink(join(folder, name)).catch(() => '');
    if (target === `socket:[${inode}]`) return true;
  }
  return false;
}

async function isNode(pid: string): Promise<boolean> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return basename(command.split('\0')[0] ?? '').startsWith('node');
}

import { lstat, readdir, readFile, readlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, isUnsupported, LockFailure } from './lock-failure.ts';
import { isListenedAt, type Listener, listenAt } from './sockets.ts';

/**
 * A lock as the version before had it: a name of the kernel's, or a socket elsewhere in the file system. Any user of the machine can take
 * such a name, so it only serves to keep out processes of that version, and as the lock itself where the folder can hold none.
 */
export interface EarlierName {
  /** On Linux in the abstract namespace, on Windows of a pipe. */
  name: string;
  /** On other systems: where the socket was. */
  folder: string;
  /** Sent to whoever connects, before the connection is closed; without it the connection is kept. */
  text?: string;
}

export interface NameOptions {
  /** User ids: this process's own, and that of the folder around. */
  owners: ReadonlySet<number>;
  until?: AbortSignal | undefined;
}

const POLL_MS = 25;
/** A process that was killed may take a moment to end. */
const TIMEOUT_MS = 250;
/** Another user may change sockets faster than they can be looked at. In so many looks one of ours would have been met. */
const MAX_CHANGES = 12;

/**
 * Holds the name until it is closed. Null: another user listens there, or the system gives no such names. Throws where one of our own
 * processes has it, or may have it.
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

/** `unseen`: it cannot be told. `another`: it was not ours, and had changed hands when that was known. */
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
  // It has just ended, or the list is not shown here.
  if (inode === null) return { by: 'unseen' };
  const earlierAnswer = seen.get(inode);
  if (earlierAnswer !== undefined) return earlierAnswer;
  const taken = await findOwner(inode, owners);
  // One of ours may have listened when the looking began, and have ended meanwhile.
  if (taken.by === 'stranger' && (await inodeOf(name)) !== inode) return { by: 'another' };
  seen.set(inode, taken);
  return taken;
}

async function checkSocketFile(path: string): Promise<Holder | null> {
  const entry = await lstat(path).catch(() => null);
  const isOurs = entry?.uid === process.getuid?.();
  return isOurs && (await isListenedAt(path)) ? { by: 'us', pid: null } : null;
}

/** A line of a listening socket at an abstract name: number, references, protocol, flags, type, state, inode, path. */
const LISTENING = /^[0-9a-f]+: [0-9A-F]+ [0-9A-F]+ 00010000 [0-9A-F]+ [0-9A-F]+ +(\d+) @(.*)$/;

/** Finds the kernel's number of the socket that listens at an abstract name; null where none does. */
async function inodeOf(name: string): Promise<string | null> {
  for (const line of (await readFile('/proc/net/unix', 'utf8').catch(() => '')).split('\n')) {
    const [, inode, path] = LISTENING.exec(line) ?? [];
    if (inode !== undefined && path === name) return inode;
  }
  return null;
}

/** The namespace of processes that a system starts with. From there every process is seen. */
const ALL_PROCESSES = 'pid:[4026531836]';

/** Finds the process that has a socket. A process may look into those of its own user, and root into all, unless it was denied that. */
async function findOwner(inode: string, owners: ReadonlySet<number>): Promise<Holder> {
  let isHidden = (await readlink('/proc/self/ns/pid').catch(() => '')) !== ALL_PROCESSES;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const uid = await userOf(pid);
    const isOurs = uid !== null && owners.has(uid);
    // If all of our processes are seen and none of them has it, it is a stranger's.
    if (!isOurs && !isHidden) continue;
    const has = await hasSocket(pid, inode);
    if (has === true) return isOurs ? { by: 'us', pid: Number(pid) } : { by: 'stranger' };
    // A program with capabilities of its own is closed to its user too.
    if (has === null && isOurs && pid !== String(process.pid) && (await isNode(pid))) isHidden = true;
  }
  return { by: isHidden ? 'unseen' : 'stranger' };
}

async function userOf(pid: string): Promise<number | null> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, effective] = /^Uid:\t\d+\t(\d+)/m.exec(status) ?? [];
  return effective === undefined ? null : Number(effective);
}

/** Null: it may not be looked at. */
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

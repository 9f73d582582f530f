import { type FileHandle, mkdir, open, readdir, readFile, rm, stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { sha256 } from '../canonical-json.ts';
import { nullIfMissing } from '../data-folder.ts';

const DAY_MS = 86_400_000;
const RETENTION_DAYS = 30;
const NAME = /^\d{4}-\d{2}-\d{2}\.log$/;
/** Must be larger than any event. */
const TAIL_BYTES = 262_144;

/** Returns the files of a copy, oldest first. */
async function filesOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder).catch(nullIfMissing)) ?? [];
  return names.filter((name) => NAME.test(name)).sort();
}

/** Returns the last event of the copy in a folder. Null if no event is complete. Any process may call it, even while another one writes. */
export async function readLogEnd(folder: string): Promise<LogEnd | null> {
  for (const name of (await filesOf(folder)).reverse()) {
    const { end } = await readTail(join(folder, name));
    if (end !== null) return end;
  }
  return null;
}

interface Tail {
  end: LogEnd | null;
  /** Offset after the last complete line. */
  upTo: number;
}

/**
 * Reads the last part of a file, up to its first damage. A crash may leave a torn line, zeros, or a line that does not continue the
 * previous one.
 */
async function readTail(path: string): Promise<Tail> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - TAIL_BYTES);
    const bytes = Buffer.alloc(size - from);
    await file.read(bytes, 0, bytes.length, from);
    const first = from === 0 ? 0 : bytes.indexOf('\n') + 1;
    let tail: Tail = { end: null, upTo: from + first };
    for (let at = first; ; ) {
      const newline = bytes.indexOf('\n', at);
      const event = newline === -1 ? null : readLine(bytes.toString('utf8', at, newline));
      if (event === null || !isNextEvent(tail.end, event)) return tail;
      at = newline + 1;
      tail = { end: { id: event.id, hash: event.hash }, upTo: from + at };
    }
  } finally {
    await file.close();
  }
}

/** Writes a copy. Only one may exist at a time. */
export interface LogCopyWriter {
  /** The last event of the copy. Null while the copy is empty. */
  end(): LogEnd | null;
  /** Appends events and syncs them to disk. Rejects if the file was deleted; then open the copy again. */
  append(events: readonly CopiedEvent[]): Promise<void>;
  close(): Promise<void>;
}

/** Continues at the end of the copy after cutting off torn lines. Writes one file a day and deletes files after 30 days. */
export async function openLogCopy(folder: string, now: () => number): Promise<LogCopyWriter> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  let end = await readLogEnd(folder);
  let file: { name: string; handle: FileHandle } | null = null;

  const openFile = async (name: string): Promise<FileHandle> => {
    if (file?.name === name) return file.handle;
    await file?.handle.close();
    file = null;
    const path = join(folder, name);
    if ((await filesOf(folder)).includes(name)) await truncate(path, (await readTail(path)).upTo);
    const handle = await open(path, 'a', 0o600);
    file = { name, handle };
    await syncFolder(folder);
    await deleteOldFiles(folder, now());
    return handle;
  };
  return {
    end: () => end,
    append: async (events) => {
      const last = events.at(-1);
      if (last === undefined) return;
      // If the clock was set back, new lines must still come after old ones.
      const names = await filesOf(folder);
      if (file !== null && !names.includes(file.name))
        throw new Error(`${join(folder, file.name)} was deleted or moved`);
      const newest = names.at(-1) ?? '';
      const today = nameOf(now());
      const handle = await openFile(today > newest ? today : newest);
      await handle.appendFile(events.map(lineOf).join(''));
      await handle.datasync();
      end = { id: last.id, hash: last.hash };
    },
    close: async () => {
      await file?.handle.close();
      file = null;
    },
  };
}

function nameOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 10)}.log`;
}

/** Syncs the folder. Otherwise a power failure could lose the name of a new file. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.datasync();
  } finally {
    await handle.close();
  }
}

/** Keeps the newest file at any age, because it shows how far the log went. */
async function deleteOldFiles(folder: string, now: number): Promise<void> {
  const oldest = nameOf(now - RETENTION_DAYS * DAY_MS);
  for (const name of (await filesOf(folder)).slice(0, -1)) {
    if (name < oldest) await rm(join(folder, name), { force: true });
  }
}

/** Returns the copy files at some paths. Each path is a file or a folder of files. */
export async function filesAt(paths: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    if (!(await stat(path)).isDirectory()) files.push(path);
    else for (const name of await filesOf(path)) files.push(join(path, name));
  }
  return files;
}

/**
 * Returns all events of some copy files, each once, in the order of their ids. Throws if two files contain different events under one id.
 */
export async function readCopies(paths: readonly string[]): Promise<CopiedEvent[]> {
  const events = new Map<bigint, CopiedEvent>();
  for (const path of paths) {
    for (const line of (await readFile(path, 'utf8')).split('\n')) {
      const event = readLine(line);
      if (event === null) continue;
      const existing = events.get(event.id);
      if (existing !== undefined && !existing.hash.equals(event.hash)) {
        throw new Error(
          `${path}: event ${event.id} differs from the copies before it. Leave out copies written after the loss`,
        );
      }
      events.set(event.id, event);
    }
  }
  return [...events.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
}

export interface CopiedEvent {
  id: bigint;
  /** Hash of the previous hash, the id as 8 bytes (big-endian) and the canonical bytes. */
  hash: Buffer;
  /** One JSON object on one line. In the market these are the RFC 8785 bytes of {actor, at, detail, kind}. */
  canonical: Buffer;
}

/** The last event of a log: enough to find out whether another log contains the same event. */
export type LogEnd = Pick<CopiedEvent, 'id' | 'hash'>;

const LINE = /^([1-9]\d{0,18}) ([0-9a-f]{64}) (\{.*\})$/s;

function lineOf({ id, hash, canonical }: CopiedEvent): string {
  return `${id} ${hash.toString('hex')} ${canonical.toString('utf8')}\n`;
}

/** Returns null for a torn or malformed line. */
function readLine(line: string): CopiedEvent | null {
  const [, id, hash, canonical] = LINE.exec(line) ?? [];
  if (id === undefined || hash === undefined || canonical === undefined) return null;
  return { id: BigInt(id), hash: Buffer.from(hash, 'hex'), canonical: Buffer.from(canonical, 'utf8') };
}

/** Returns the running hash after the next event. */
export function hashAfter(before: LogEnd, { id, canonical }: Pick<CopiedEvent, 'id' | 'canonical'>): Buffer {
  const idBytes = Buffer.alloc(8);
  idBytes.writeBigInt64BE(id);
  return sha256(before.hash, idBytes, canonical);
}

/** Returns true if `next` may follow. After a recovery the ids have a gap, across which hashes cannot be compared. */
export function isNextEvent(before: LogEnd | null, next: CopiedEvent): boolean {
  if (before === null) return true;
  if (next.id !== before.id + 1n) return next.id > before.id;
  return hashAfter(before, next).equals(next.hash);
}

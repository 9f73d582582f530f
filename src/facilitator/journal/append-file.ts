import { createHash } from 'node:crypto';
import { type FileHandle, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ReachCrashPoint } from '../crash-points.ts';

export type Item = readonly [key: string, text: string];

export interface AppendFile {
  /** Resolves when the items are written, and on disk if `durable`. Otherwise they survive the process but not always a power failure. */
  append(items: readonly Item[], durable: boolean): Promise<void>;
  rewrite(): Promise<void>;
  stats(): { lines: number; appends: number; syncs: number };
  close(): Promise<void>;
}

export interface AppendFileOptions {
  path: string;
  snapshot(): readonly Item[];
  crashPoint: ReachCrashPoint;
}

interface Waiting {
  items: readonly Item[];
  durable: boolean;
  afresh: boolean;
  done(error: unknown): void;
}

const FIRST = 'first';

export async function readWhole(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
}

/**
 * Opens a file that only grows until a fresh file replaces it. Items that arrive while the disk is busy are written together with one
 * fsync. After a failed write the last line may be incomplete, so nothing is appended until a fresh file is written.
 */
export async function openAppendFile(options: AppendFileOptions): Promise<AppendFile> {
  const writer = createWriter(options);
  let appends = 0;
  let queue: Waiting[] = [];
  let pumping: Promise<void> | null = null;
  const pump = async (): Promise<void> => {
    while (queue.length > 0) {
      const group = queue;
      queue = [];
      let failure: unknown = null;
      try {
        await writer.write(group);
      } catch (error) {
        failure = error ?? new Error('not written');
        await writer.closeFile();
      }
      for (const { done } of group) done(failure);
    }
    pumping = null;
  };
  const enqueue = (write: Omit<Waiting, 'done'>): Promise<void> => {
    appends += 1;
    return new Promise((resolve, reject) => {
      queue.push({ ...write, done: (error) => (error === null ? resolve() : reject(error)) });
      // Start after the code that runs now, so that everything that it appends is written together.
      pumping ??= Promise.resolve().then(pump);
    });
  };
  await writer.startFreshFile();
  return {
    append: (items, durable) => enqueue({ items, durable, afresh: false }),
    rewrite: () => enqueue({ items: [], durable: true, afresh: true }),
    stats: () => ({ ...writer.stats, appends }),
    close: async () => {
      while (pumping !== null) await pumping;
      await writer.closeFile();
    },
  };
}

/** Writes to the file. Calls must not overlap. */
function createWriter({ path, snapshot, crashPoint }: AppendFileOptions) {
  const stats = { lines: 0, syncs: 0 };
  let file: FileHandle | null = null;
  let previousKey = FIRST;
  const print = (items: readonly Item[]): string => {
    const lines = items.map(([key, text]): Line => {
      stats.lines += 1;
      const line = { number: stats.lines, key, previousKey, text };
      previousKey = key;
      return line;
    });
    return lines.map(printLine).join('');
  };
  const closeFile = async (): Promise<void> => {
    const old = file;
    file = null;
    await old?.close().catch(() => {});
  };
  const startFreshFile = async (): Promise<void> => {
    await closeFile();
    stats.lines = 0;
    previousKey = FIRST;
    const unfinished = `${path}.unfinished`;
    const fresh = await open(unfinished, 'w', 0o600);
    try {
      await fresh.writeFile(print(snapshot()));
      await fresh.sync();
      stats.syncs += 1;
      crashPoint('before_fresh_file_named');
      await rename(unfinished, path);
      crashPoint('after_fresh_file_named');
      // The folder contains the file's name, so sync the folder as well.
      await syncFolder(path);
    } catch (error) {
      await fresh.close().catch(() => {});
      throw error;
    }
    file = fresh;
  };
  const write = async (group: readonly Waiting[]): Promise<void> => {
    if (file === null || group.some(({ afresh }) => afresh)) await startFreshFile();
    const text = print(group.flatMap(({ items }) => items));
    if (text === '' || file === null) return;
    const isDurable = group.some(({ durable }) => durable);
    if (isDurable) crashPoint('before_line_written');
    const { bytesWritten } = await file.write(text);
    if (bytesWritten !== Buffer.byteLength(text)) throw new Error('the journal could not be written whole');
    if (!isDurable) return;
    crashPoint('after_line_written');
    await file.datasync();
    stats.syncs += 1;
  };
  return { stats, closeFile, startFreshFile, write };
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/**
 * A line of the journal: number, checksum, key, key of the previous line, text, key. The key identifies the authorization or, in a line
 * about none, its type. A line contains its key twice and the next line repeats it, so that a damaged line still shows which authorization
 * it was about.
 */
export interface Line {
  number: number;
  key: string;
  previousKey: string;
  text: string;
}

interface ReadLines {
  lines: Line[];
  damagedKeys: Set<string>;
  damaged: number;
  /** True if the keys of some lost lines are unknown, so their authorizations might be settled twice. */
  isUnknown: boolean;
}

const KEY = '[0-9a-z]+(?:-[0-9a-f]{64})?';
const WHOLE = new RegExp(`^(\\d{1,15}) ([0-9a-f]{16}) (${KEY}) (${KEY}) (\\{.*\\}) (${KEY})$`);
const FIRST_KEY = new RegExp(`^\\d{1,15} [0-9a-f]{16} (${KEY}) `);
const LAST_KEY = new RegExp(`\\} (${KEY})$`);

export function printLine({ number, key, previousKey, text }: Line): string {
  return `${number} ${checksumOf(number, key, previousKey, text)} ${key} ${previousKey} ${text} ${key}\n`;
}

/** Ignores an incomplete last line, because the process died while writing it and never acted on it. */
export function readLines(file: string): ReadLines {
  const texts = file.split('\n').slice(0, -1);
  const read: ReadLines = { lines: [], damagedKeys: new Set(), damaged: 0, isUnknown: false };
  let damagedTexts: string[] = [];
  let last = 0;
  for (const text of texts) {
    const line = readLine(text);
    if (line === null) {
      damagedTexts.push(text);
      continue;
    }
    noteDamage(read, damagedTexts, { lost: line.number - last - 1, after: line.previousKey });
    damagedTexts = [];
    last = line.number;
    read.lines.push(line);
  }
  noteDamage(read, damagedTexts, { lost: damagedTexts.length, after: null });
  return read;
}

/**
 * Records the keys of lost lines. Sets `isUnknown` if one of them no longer shows its key, unless it is the last one, because the next
 * whole line contains that key as well.
 */
function noteDamage(
  read: ReadLines,
  damagedTexts: readonly string[],
  { lost, after }: { lost: number; after: string | null },
) {
  if (lost === 0 && damagedTexts.length === 0) return;
  read.damaged += Math.max(lost, damagedTexts.length);
  const keys = damagedTexts.map((text) =>
    [FIRST_KEY.exec(text)?.[1], LAST_KEY.exec(text)?.[1]].filter((key) => key !== undefined),
  );
  for (const key of keys.flat()) read.damagedKeys.add(key);
  if (after !== null) read.damagedKeys.add(after);
  const hasUnidentified = keys.slice(0, after === null ? keys.length : -1).some((named) => named.length === 0);
  if (lost > Math.max(damagedTexts.length, after === null ? 0 : 1) || hasUnidentified) read.isUnknown = true;
}

function readLine(text: string): Line | null {
  const [, number = '', sum, key = '', previousKey = '', body = '', again] = WHOLE.exec(text) ?? [];
  if (key !== again || sum !== checksumOf(Number(number), key, previousKey, body)) return null;
  return { number: Number(number), key, previousKey, text: body };
}

function checksumOf(number: number, key: string, previousKey: string, text: string): string {
  return createHash('sha256').update(`${number} ${key} ${previousKey} ${text}`).digest('hex').slice(0, 16);
}

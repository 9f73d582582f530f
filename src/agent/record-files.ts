import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AgentError } from './agent-error.ts';
import { makeFolderOf, readPrivate, removePrivate, writePrivate } from './private-file.ts';
import { type SpendRecord, spendRecord } from './spend-record.ts';

/** With the body of a listing, whose artifact may be a quarter of a megabyte and more once JSON has escaped it. */
const LARGEST_BYTES = 8_388_608;
const NAME = /^(\d{8})-([0-9a-f]{32})-(\d+)\.json$/;

/** One file of the book: `<day of UTC>-<digest of the key>-<sequence>.json`. */
export interface RecordName {
  file: string;
  day: string;
  digest: string;
  sequence: number;
}

/** Names a key in names of files and locks. */
export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}

/** `20260131` of UTC. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');
}

/** The files of one wallet's book. Each is whole and on the disk before a call resolves; who may write which is the book's to say. */
export function recordFiles(folder: string) {
  const pathOf = (record: SpendRecord): string =>
    join(folder, `${dayOf(Date.parse(record.reserved_at))}-${digestOf(record.key)}-${record.sequence}.json`);

  return {
    folder,
    /** Makes the folder. */
    open: () => makeFolderOf(join(folder, 'any')),
    /** In no order. */
    names: async (): Promise<RecordName[]> => {
      const found = await readdir(folder).catch((error: unknown) => {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
        throw error;
      });
      return found.flatMap((file) => {
        const [, day, digest, sequence] = NAME.exec(file) ?? [];
        if (day === undefined || digest === undefined) return [];
        return [{ file, day, digest, sequence: Number(sequence) }];
      });
    },
    /** Null: it is gone. Throws `book_unreadable`: what is not understood may be a payment. */
    read: async ({ file }: Pick<RecordName, 'file'>): Promise<SpendRecord | null> => {
      const path = join(folder, file);
      const text = await readPrivate(path, LARGEST_BYTES);
      if (text === null) return null;
      const record = parse(text);
      if (record !== null) return record;
      throw new AgentError('wrong_use', {
        reason: 'book_unreadable',
        title: `${path} cannot be read as a record of a payment; nothing is spent`,
        nextStep: 'Restore it from a copy, or find out what it paid for and move it away.',
      });
    },
    create: (record: SpendRecord) => writePrivate(pathOf(record), print(record), 'new'),
    replace: (record: SpendRecord) => writePrivate(pathOf(record), print(record), 'replace'),
    remove: (record: SpendRecord) => removePrivate(pathOf(record)),
  };
}
export type RecordFiles = ReturnType<typeof recordFiles>;

function print(record: SpendRecord): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}

function parse(text: string): SpendRecord | null {
  try {
    return spendRecord.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

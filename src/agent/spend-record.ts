import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ofOwner, own } from '../contract/own-words.ts';
import { receiptOut } from '../contract/payments.ts';
import { MAX_PRICE_UNITS, NETWORK_NAMES } from '../contract/vocabulary.ts';
import { savedPayment } from '../sdk/payments/proof-store.ts';
import { MAX_APART_SECONDS } from '../sdk/payments/signing-clock.ts';
import { AgentError } from './agent-error.ts';
import { codeOf } from './own-file.ts';
import { makeFolderOf, readPrivate, removePrivate, writePrivate } from './private-file.ts';

/**
 * `reserved`: counted, nothing is signed. `signed`: an authorization exists and may be executed until proven otherwise. `settled`: the
 * goods are on disk, or the listing is live. `over`: ended unpaid, and was replaced or would only be refused again.
 */
export const SPEND_STATES = ['reserved', 'signed', 'settled', 'over'] as const;

/** The goods' file, with the evidence that they were promised and paid for. */
const keptGoods = z.strictObject({
  /** Absolute path. */
  path: z.string(),
  bytes: z.int(),
  media_type: z.string(),
  /** SHA-256 over salt and bytes, as published in the listing. */
  commitment: z.string(),
  salt: z.string(),
  receipt: receiptOut.nullable(),
  /** Lets a market that lost the purchase restore it. */
  recovery_slip: z.string().nullable(),
});
export type KeptGoods = z.output<typeof keptGoods>;

const keptListing = z.strictObject({
  listing_id: z.int(),
  url: z.string(),
  /** Transaction of the fee; null if none was due. */
  tx_hash: z.string().nullable(),
});
export type KeptListing = z.output<typeof keptListing>;

/** The market's statement that a signed payment wasn't made. */
const unpaid = z.strictObject({
  /** `nothing_due`: the goods came without a payment. `signature`: the market refuses this wallet's signatures. */
  why: z.enum(['nothing_due', 'own_goods', 'signature', 'clock', 'refused']),
  /** When the signature expires, in seconds since 1970; 0 if there is none. */
  until: z.int().nonnegative(),
  /** True if a new signature would be refused too. */
  is_final: z.boolean(),
  /** True if the signature was sent again since, so that the payment may be made after all. */
  sent_again: z.boolean(),
});
export type Unpaid = z.output<typeof unpaid>;

/** Bounded by the highest price. Digits are counted before conversion to a number. */
const AMOUNT = new RegExp(`^\\d{1,${MAX_PRICE_UNITS.toString().length}}$`);
const amount = z.string().refine((digits) => AMOUNT.test(digits) && BigInt(digits) <= MAX_PRICE_UNITS);

/** ISO time. The year must have four digits, because file names start with YYYYMMDD. */
const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .refine((text) => !Number.isNaN(Date.parse(text)));

/** Set on records that this book didn't write. */
const imported = z.strictObject({
  at: time,
  /** True if the wallet signed the export, or the market has confirmed the record since. */
  verified: z.boolean(),
});

/** One payment, or one delivery without payment. Contains secrets while `saved` is set (see `savedPayment`). */
export const spendRecord = z.strictObject({
  version: z.literal(1),
  /** Key in the SDK's proof store. It names market and purpose. */
  key: z.string(),
  /** Counts the payments under one key from 1. */
  sequence: z.int().positive(),
  market: z.string(),
  kind: z.enum(['purchase', 'listing_fee']),
  listing_id: z.int().nullable(),
  title: z.string(),
  seller: z.string().nullable(),
  payee: z.templateLiteral(['0x', z.string()]),
  network: z.enum(NETWORK_NAMES),
  /** Amount reserved or signed for. 0 if nothing was due. */
  amount_units: amount,
  reserved_at: time,
  state: z.enum(SPEND_STATES),
  /** Folder requested for the goods. Null for the default. */
  out_dir: z.string().nullable(),
  /** Exact body of a listing whose fee is in progress. A different body would create a different listing. */
  listing: z.record(z.string(), z.unknown()).nullable(),
  saved: savedPayment.nullable(),
  delivery: keptGoods.nullable(),
  listed: keptListing.nullable(),
  /** Missing if the market has made no such statement. */
  unpaid: unpaid.optional(),
  /** Missing if this book wrote the record. */
  imported: imported.optional(),
});
export type SpendRecord = z.output<typeof spendRecord>;

/** A payment that isn't in the book yet. */
export type SpendPlan = Pick<
  SpendRecord,
  'key' | 'market' | 'kind' | 'listing_id' | 'title' | 'seller' | 'payee' | 'network' | 'out_dir' | 'listing'
> & { amountUnits: bigint };

/** Whether the payment is signed and not known to be finished. */
export function isUnderWay({ state }: Pick<SpendRecord, 'state'>): boolean {
  return state === 'signed';
}

/** True if the record was never signed for, so that it can be dropped. */
export function isUnsigned({ state, saved }: SpendRecord): boolean {
  return state === 'reserved' && saved === null;
}

/** Whether a signature has expired by every clock that may plausibly differ from ours. `until` is in seconds. */
function hasExpired(until: number, nowMs: number): boolean {
  return nowMs > (until + MAX_APART_SECONDS) * 1_000;
}

/** Whether the signature has expired and the market says that it was never used. */
function hasEndedUnpaid({ state, saved, unpaid: end }: SpendRecord, nowMs: number): boolean {
  if (end !== undefined && !end.sent_again) return hasExpired(end.until, nowMs);
  // A later payment is signed only after the market has said that the earlier one was never made.
  return state === 'over' && hasExpired(saved?.proof.valid_before ?? 0, nowMs);
}

/** Whether the goods are free. Their seller may edit them, so they are fetched again. */
export function isFree({ delivery, amount_units, unpaid: end }: SpendRecord): boolean {
  return delivery?.receipt === null && amount_units === '0' && end === undefined;
}

/** False for an import that neither the wallet's signature nor the market confirms. */
export function isVerified({ imported }: Pick<SpendRecord, 'imported'>): boolean {
  return imported?.verified !== false;
}

/**
 * Whether the book keeps its record instead of a later one from an import. The latest record of a key counts, so an unverified one must not
 * replace one that the book or the wallet vouches for. No import may hide an undecided payment or paid goods either, because the next
 * purchase would pay again.
 */
export function keepsExisting(existing: SpendRecord, imported: SpendRecord): boolean {
  if (existing.sequence >= imported.sequence) return true;
  if (imported.imported === undefined) return false;
  if (!isVerified(imported) && isVerified(existing)) return true;
  const isDone = existing.state === 'settled' && !isFree(existing);
  if (existing.imported === undefined && (isUnderWay(existing) || isDone)) return true;
  // Copies of one book may have paid separately, and a fee may be paid more than once.
  return !isUnderWay(imported) && (isUnderWay(existing) || (isDone && existing.delivery !== null));
}

export type SpendOutcome = ({ delivery: KeptGoods } | { listed: KeptListing }) & { unpaid?: Unpaid };

/** Returns the record as finished: the goods are on disk, or the listing is live. */
export function finishedRecord(record: SpendRecord, outcome: SpendOutcome): SpendRecord {
  const { unpaid: _, imported: origin, ...rest } = record;
  const amount_units = record.state === 'reserved' ? '0' : record.amount_units;
  const settled = { ...rest, ...outcome, state: 'settled', amount_units, saved: null, listing: null } as const;
  // A payment made here is this book's own. Imported goods that are collected again were paid elsewhere, and are verified now.
  return origin === undefined || record.state !== 'settled' ? settled : asVerified({ ...settled, imported: origin });
}

export function asVerified(record: SpendRecord): SpendRecord {
  const { imported: origin } = record;
  return origin === undefined ? record : { ...record, imported: { ...origin, verified: true } };
}

/** Imported payments were made under another machine's limits, so they count here only while they may still be paid. */
function isImportedAndClosed({ imported, state, saved }: SpendRecord, nowMs: number): boolean {
  if (imported === undefined || state === 'signed') return false;
  return saved === null || hasExpired(saved.proof.valid_before, nowMs);
}

/** Whether the payee is the paying wallet, so that nothing is spent. */
function paysItself({ payee, saved }: SpendRecord): boolean {
  return saved !== null && saved.proof.payer.toLowerCase() === payee.toLowerCase();
}

/** Splits a record's sum. `counted` was paid or may still be paid. `saidUnpaid` is unpaid according to the market alone. */
export function countSpend(record: SpendRecord, nowMs: number): { counted: bigint; saidUnpaid: bigint } {
  const units = BigInt(record.amount_units);
  if (paysItself(record) || isImportedAndClosed(record, nowMs)) return { counted: 0n, saidUnpaid: 0n };
  return hasEndedUnpaid(record, nowMs) ? { counted: 0n, saidUnpaid: units } : { counted: units, saidUnpaid: 0n };
}

/** Returns the sum paid as far as known. It is 0 for goods and listings that came without a transfer. */
export function paidUnits({ amount_units, delivery, listed }: SpendRecord): bigint {
  const isWithout = delivery?.receipt === null || listed?.tx_hash === null;
  return isWithout ? 0n : BigInt(amount_units);
}

/** Makes the `unpaid` entry for a delivery without a transfer. An existing signature still counts until it expires. */
export function nothingDueEntry({ saved, unpaid: before }: SpendRecord): Unpaid {
  const until = saved?.proof.valid_before ?? before?.until ?? 0;
  return { why: 'nothing_due', until, is_final: true, sent_again: false };
}

/** Returns the record as of that time. A payment that would only be refused again is over once its signature has expired. */
export function recordAsOf(record: SpendRecord, nowMs: number): SpendRecord {
  const { state, saved, unpaid: end } = record;
  if (state !== 'signed' || saved === null || !hasExpired(saved.proof.valid_before, nowMs)) return record;
  return end?.is_final === true || paysItself(record) ? { ...record, state: 'over' } : record;
}

/** Leaves room for a listing's body, whose artifact of 256 KiB grows when JSON escapes it. */
const LARGEST_BYTES = 8_388_608;
const NAME = /^(\d{8})-([0-9a-f]{32})-(\d+)\.json$/;

/** Parsed file name: `<UTC day>-<digest of the key>-<sequence>.json`. */
export interface RecordName {
  file: string;
  day: string;
  digest: string;
  sequence: number;
}

export function digestOf(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 32);
}

/** UTC day, as `20260131`. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10).replaceAll('-', '');
}

/** Files of one wallet's book, written durably. Locking is up to the caller. */
export function recordFiles(folder: string) {
  const pathOf = (record: SpendRecord): string =>
    join(folder, `${dayOf(Date.parse(record.reserved_at))}-${digestOf(record.key)}-${record.sequence}.json`);

  return {
    folder,
    open: () => makeFolderOf(join(folder, 'any')),
    /** Returns the names in no particular order. */
    names: async (): Promise<RecordName[]> => {
      const entries = await readdir(folder).catch((error: unknown) => {
        if (codeOf(error) === 'ENOENT') return [];
        throw error;
      });
      return entries.flatMap((file) => {
        const [, day, digest, sequence] = NAME.exec(file) ?? [];
        if (day === undefined || digest === undefined) return [];
        return [{ file, day, digest, sequence: Number(sequence) }];
      });
    },
    /** Returns null if the file is gone. Throws `book_unreadable`, because an unreadable record may be a payment. */
    read: async ({ file }: Pick<RecordName, 'file'>): Promise<SpendRecord | null> => {
      const path = join(folder, file);
      const text = await readPrivate(path, LARGEST_BYTES);
      if (text === null) return null;
      const record = parse(text);
      if (record !== null) return record;
      throw new AgentError('wrong_use', {
        reason: 'book_unreadable',
        title: own`${ofOwner(path)} isn’t a readable payment record. Nothing is spent`,
        nextStep: own`Restore it from a copy, or find out what it paid for and move it away.`,
      });
    },
    /** Throws `record_too_large` before writing, because an unreadable record would block all spending. */
    create: async (record: SpendRecord) => writePrivate(pathOf(record), printRecord(record), 'new'),
    replace: async (record: SpendRecord) => writePrivate(pathOf(record), printRecord(record), 'replace'),
    pathOf,
    /** Whether the file still contains exactly this record. */
    isThere: async (record: SpendRecord): Promise<boolean> =>
      (await readPrivate(pathOf(record), LARGEST_BYTES)) === printRecord(record),
    remove: (record: SpendRecord) => removePrivate(pathOf(record)),
  };
}
export type RecordFiles = ReturnType<typeof recordFiles>;

function textOf(record: SpendRecord): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}

/** Whether the record is small enough to be read back. */
export function fitsBook(record: SpendRecord): boolean {
  return Buffer.byteLength(textOf(record)) <= LARGEST_BYTES;
}

function printRecord(record: SpendRecord): string {
  if (fitsBook(record)) return textOf(record);
  throw new AgentError('refused', {
    reason: 'record_too_large',
    title: own`The market sent more than the spend book can store`,
    nextStep: own`Don’t pay this market until its operator explains it.`,
  });
}

function parse(text: string): SpendRecord | null {
  try {
    return spendRecord.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

import { createHash } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ofOwner, own } from '../contract/own-words.ts';
import { receiptOut } from '../contract/payments.ts';
import { MAX_PRICE_UNITS, NETWORK_NAMES } from '../contract/vocabulary.ts';
import { savedPayment } from '../sdk/payments/proof-store.ts';
import { MOST_APART_SECONDS } from '../sdk/payments/signing-clock.ts';
import { AgentError } from './agent-error.ts';
import { makeFolderOf, readPrivate, removePrivate, writePrivate } from './private-file.ts';

/**
 * `reserved`: it counts, and nothing is signed. `signed`: an authorization exists, and may be carried out until it is known otherwise.
 * `settled`: the goods are on the disk, or the listing is live. `over`: it ended unpaid, and a later payment took its place or the same one
 * would only be refused again.
 */
export const SPEND_STATES = ['reserved', 'signed', 'settled', 'over'] as const;

/** Where goods lie, and all that shows that they are what was promised and paid for. */
const keptGoods = z.strictObject({
  /** Absolute. */
  path: z.string(),
  bytes: z.int(),
  media_type: z.string(),
  /** What the listing published: SHA-256 over salt and bytes. */
  commitment: z.string(),
  salt: z.string(),
  receipt: receiptOut.nullable(),
  /** By which a market that lost the purchase takes it back. */
  recovery_slip: z.string().nullable(),
});
export type KeptGoods = z.output<typeof keptGoods>;

const keptListing = z.strictObject({
  listing_id: z.int(),
  url: z.string(),
  /** Of the fee; null where none was due. */
  tx_hash: z.string().nullable(),
});
export type KeptListing = z.output<typeof keptListing>;

/** The market's word that a signature paid for nothing and will not. */
const unpaid = z.strictObject({
  /** `nothing_due`: the goods came without a payment. `signature`: it is not taken from this wallet. */
  why: z.enum(['nothing_due', 'own_goods', 'signature', 'clock', 'refused']),
  /** Seconds since 1970 at which the signature runs out; 0 where there is none. */
  until: z.int().nonnegative(),
  /** The same payment, signed again, would be refused again. */
  is_final: z.boolean(),
  /** It was sent once more since then, and may be paid after all. */
  sent_again: z.boolean(),
});
export type Unpaid = z.output<typeof unpaid>;

/** No sum is larger than the largest price there is. Its digits are counted before they become a number. */
const AMOUNT = new RegExp(`^\\d{1,${MAX_PRICE_UNITS.toString().length}}$`);
const amount = z.string().refine((digits) => AMOUNT.test(digits) && BigInt(digits) <= MAX_PRICE_UNITS);

/** A time in the form of `Date`, of a year in four digits: names of files hold the day. */
const time = z
  .string()
  .regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  .refine((text) => !Number.isNaN(Date.parse(text)));

/** Marks a record that this book did not write. */
const imported = z.strictObject({
  at: time,
  /** Its wallet signed the export, or the market has confirmed it since. False: it is no more than somebody's word. */
  verified: z.boolean(),
});

/** One payment of this wallet, or one thing that was had without. It holds secrets while `saved` is there: see `savedPayment`. */
export const spendRecord = z.strictObject({
  version: z.literal(1),
  /** Of the SDK's proof store: it names market and purpose. */
  key: z.string(),
  /** Counts the payments under one key from 1. */
  sequence: z.int().positive(),
  market: z.string(),
  kind: z.enum(['purchase', 'listing_fee']),
  /** Of the goods; null for a fee. */
  listing_id: z.int().nullable(),
  title: z.string(),
  seller: z.string().nullable(),
  payee: z.templateLiteral(['0x', z.string()]),
  network: z.enum(NETWORK_NAMES),
  /** What was reserved, or what was signed for. 0 where it turned out that nothing was due. */
  amount_units: amount,
  reserved_at: time,
  state: z.enum(SPEND_STATES),
  /** Where the goods were asked for; null: the usual folder. */
  out_dir: z.string().nullable(),
  /** The exact body of a listing whose fee is under way: only the same body is the same listing. */
  listing: z.record(z.string(), z.unknown()).nullable(),
  saved: savedPayment.nullable(),
  delivery: keptGoods.nullable(),
  listed: keptListing.nullable(),
  /** Missing: the market has said nothing of that kind. */
  unpaid: unpaid.optional(),
  /** Missing: this book wrote it. */
  imported: imported.optional(),
});
export type SpendRecord = z.output<typeof spendRecord>;

/** What is about to be paid, before it is in the book. */
export type SpendPlan = Pick<
  SpendRecord,
  'key' | 'market' | 'kind' | 'listing_id' | 'title' | 'seller' | 'payee' | 'network' | 'out_dir' | 'listing'
> & { amountUnits: bigint };

/** Signed for, and not known to be done. */
export function isUnderWay({ state }: Pick<SpendRecord, 'state'>): boolean {
  return state === 'signed';
}

/** True while it has never been signed for: it can be forgotten. */
export function isUnsigned({ state, saved }: SpendRecord): boolean {
  return state === 'reserved' && saved === null;
}

/** Whether a signature that is good until then, in seconds, has run out by any clock that may be near ours. */
function hasRunOut(until: number, nowMs: number): boolean {
  return nowMs > (until + MOST_APART_SECONDS) * 1_000;
}

/** Nobody can carry out any more what was signed, and the market says that nobody has. */
function hasEndedUnpaid({ state, saved, unpaid: end }: SpendRecord, nowMs: number): boolean {
  if (end !== undefined && !end.sent_again) return hasRunOut(end.until, nowMs);
  // A later payment is only signed once the market has said so of the earlier one.
  return state === 'over' && hasRunOut(saved?.proof.valid_before ?? 0, nowMs);
}

/** Goods that cost nothing: they may be edited, and are asked for again. */
export function isFree({ delivery, amount_units, unpaid: end }: SpendRecord): boolean {
  return delivery?.receipt === null && amount_units === '0' && end === undefined;
}

/** False: it came by an import, and neither its wallet nor the market has confirmed it. */
export function isVerified({ imported }: Pick<SpendRecord, 'imported'>): boolean {
  return imported?.verified !== false;
}

/**
 * Whether a record of the book keeps out one that an import brings under the same key. A later record speaks for its key: on somebody's
 * mere word it takes no place of one that the book or the wallet vouches for; and none, signed or not, hides a payment that is undecided, or
 * goods that were paid for, since the next purchase would pay again.
 */
export function keepsExisting(known: SpendRecord, brought: SpendRecord): boolean {
  if (known.sequence >= brought.sequence) return true;
  if (brought.imported === undefined) return false;
  if (!isVerified(brought) && isVerified(known)) return true;
  const isDone = known.state === 'settled' && !isFree(known);
  if (known.imported === undefined && (isUnderWay(known) || isDone)) return true;
  // Copies of one book may have paid separately. A fee may be settled more than once.
  return !isUnderWay(brought) && (isUnderWay(known) || (isDone && known.delivery !== null));
}

/** The outcome of a payment; `unpaid` where the goods came without one. */
export type SpendOutcome = ({ delivery: KeptGoods } | { listed: KeptListing }) & { unpaid?: Unpaid };

/** The record once its goods are on the disk, or its listing is live. */
export function finishedRecord(record: SpendRecord, outcome: SpendOutcome): SpendRecord {
  const { unpaid: _, imported: origin, ...rest } = record;
  const amount_units = record.state === 'reserved' ? '0' : record.amount_units;
  const settled = { ...rest, ...outcome, state: 'settled', amount_units, saved: null, listing: null } as const;
  // A payment from here is this book's own; goods that were only collected again were paid elsewhere, and are known now.
  return origin === undefined || record.state !== 'settled' ? settled : asVerified({ ...settled, imported: origin });
}

/** The record once the market has confirmed what an import told. */
export function asVerified(record: SpendRecord): SpendRecord {
  const { imported: origin } = record;
  return origin === undefined ? record : { ...record, imported: { ...origin, verified: true } };
}

/** An imported payment was made under the limits of another machine. It counts here while it may still be paid. */
function isOnlyTold({ imported, state, saved }: SpendRecord, nowMs: number): boolean {
  if (imported === undefined || state === 'signed') return false;
  return saved === null || hasRunOut(saved.proof.valid_before, nowMs);
}

/** A transfer to the wallet that pays takes nothing from it. */
function paysItself({ payee, saved }: SpendRecord): boolean {
  return saved !== null && saved.proof.payer.toLowerCase() === payee.toLowerCase();
}

/**
 * How a record counts for its day: what was paid or may still be paid; and what only the market's word says was signed and never paid.
 */
export function countSpend(record: SpendRecord, nowMs: number): { counted: bigint; saidUnpaid: bigint } {
  const units = BigInt(record.amount_units);
  if (paysItself(record) || isOnlyTold(record, nowMs)) return { counted: 0n, saidUnpaid: 0n };
  return hasEndedUnpaid(record, nowMs) ? { counted: 0n, saidUnpaid: units } : { counted: units, saidUnpaid: 0n };
}

/** The sum that was paid, as far as it is known: 0 for goods and listings that came without a transfer. */
export function paidUnits({ amount_units, delivery, listed }: SpendRecord): bigint {
  const isWithout = delivery?.receipt === null || listed?.tx_hash === null;
  return isWithout ? 0n : BigInt(amount_units);
}

/** For what came without a transfer: a signature that exists all the same counts until it has run out. */
export function nothingDue({ saved, unpaid: before }: SpendRecord): Unpaid {
  const until = saved?.proof.valid_before ?? before?.until ?? 0;
  return { why: 'nothing_due', until, is_final: true, sent_again: false };
}

/** The record as it stands at that time: a payment that would only be refused again is over once its signature has run out. */
export function asOf(record: SpendRecord, nowMs: number): SpendRecord {
  const { state, saved, unpaid: end } = record;
  if (state !== 'signed' || saved === null || !hasRunOut(saved.proof.valid_before, nowMs)) return record;
  return end?.is_final === true || paysItself(record) ? { ...record, state: 'over' } : record;
}

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
        title: own`${ofOwner(path)} cannot be read as a record of a payment; nothing is spent`,
        nextStep: own`Restore it from a copy, or find out what it paid for and move it away.`,
      });
    },
    /** Throws `record_too_large` before anything is written: what could not be read back would stop all spending. */
    create: async (record: SpendRecord) => writePrivate(pathOf(record), printRecord(record), 'new'),
    replace: async (record: SpendRecord) => writePrivate(pathOf(record), printRecord(record), 'replace'),
    /** Its place. */
    pathOf,
    /** Whether its file is still this very record. */
    isThere: async (record: SpendRecord): Promise<boolean> =>
      (await readPrivate(pathOf(record), LARGEST_BYTES)) === printRecord(record),
    remove: (record: SpendRecord) => removePrivate(pathOf(record)),
  };
}
export type RecordFiles = ReturnType<typeof recordFiles>;

function textOf(record: SpendRecord): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}

/** Whether the book could read it back. */
export function fitsBook(record: SpendRecord): boolean {
  return Buffer.byteLength(textOf(record)) <= LARGEST_BYTES;
}

function printRecord(record: SpendRecord): string {
  if (fitsBook(record)) return textOf(record);
  throw new AgentError('refused', {
    reason: 'record_too_large',
    title: own`What the market sent is too large to be kept in the book of payments`,
    nextStep: own`Do not pay this market until its operator has explained it.`,
  });
}

function parse(text: string): SpendRecord | null {
  try {
    return spendRecord.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

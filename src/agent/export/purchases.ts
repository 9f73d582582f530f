import { basename, join } from 'node:path';
import { formed, ofOwner, own } from '../../contract/own-words.ts';
import { readBaseUrl } from '../../sdk/client.ts';
import { type AgentError, refusedFile } from '../agent-error.ts';
import { goodsFolder } from '../buy-goods.ts';
import { readBytesOf } from '../own-file.ts';
import { goodsName, isPromised, placeFor } from '../save-goods.ts';
import type { SpendBook } from '../spend-book.ts';
import { dayOf, digestOf, fitsBook, isUnderWay, isUnsigned, isVerified, type SpendRecord } from '../spend-record.ts';
import {
  type ExportFolder,
  exportChanged,
  goodsOnce,
  LARGEST_GOODS_BYTES,
  openForReading,
  openForWriting,
} from './export-folder.ts';
import {
  EXPORT_VERSION,
  FILE_NAME,
  type Manifest,
  type PurchaseFile,
  type PurchasesManifest,
  purchaseFile,
} from './export-format.ts';
import { digestOfManifest, type ExportSigner, isSignedByWallet } from './export-signature.ts';
import { isSignedProof } from './signed-proof.ts';

export interface ExportedPurchases {
  /** Absolute. */
  dir: string;
  wallet: string;
  /** Purchases and fees of listings. */
  records: number;
  goods: number;
  /** Goods of the book that are gone from the disk, or are not what was delivered: `openaisle buy` brings them again. */
  missing: number;
}

/**
 * Writes what a wallet bought from this machine: each record of its book with receipt, recovery slip and, while it is under way, the signed
 * proof, and the goods; signed by the wallet, so that an import knows its records for the book's. Not the wallet's key. Stopped at any
 * point, the same call completes it. Throws `not_an_export`, `other_export`, and what the signer throws.
 */
export async function exportPurchases(
  book: SpendBook,
  dir: string,
  { now, signer }: { now(): number; signer: ExportSigner },
): Promise<ExportedPurchases> {
  const folder = await openForWriting(dir);
  try {
    const begun: PurchasesManifest = {
      kind: 'purchases',
      version: EXPORT_VERSION,
      wallet: book.address.toLowerCase(),
      begun_at: new Date(now()).toISOString(),
      completed_at: null,
      files: {},
      signature: null,
    };
    await mustFit(folder, begun);
    const records = (await book.list()).filter((record) => !isUnsigned(record));
    await mustHoldOnly(folder, records);
    await folder.writeManifest(begun);
    const digests: Digests = {};
    const files: PurchaseFile[] = [];
    for (const record of records) files.push(await exportRecord(folder, record, digests));
    // The wallet vouches for what was written here, and for no file that somebody put beside it.
    const whole = { ...begun, files: digests, completed_at: new Date(now()).toISOString() };
    await folder.writeManifest({ ...whole, signature: await signer.signExport(digestOfManifest(whole)) });
    const bought = files.filter(({ record }) => record.delivery !== null);
    const goods = bought.filter((file) => file.goods !== null).length;
    return { dir: folder.path, wallet: book.address, records: files.length, goods, missing: bought.length - goods };
  } finally {
    await folder.release();
  }
}

async function mustFit(folder: ExportFolder, { wallet }: PurchasesManifest): Promise<void> {
  const before = await folder.readManifest();
  if (before === null || (before.kind === 'purchases' && before.wallet === wallet)) return;
  const whose = before.kind === 'store' ? own`a store` : own`the purchases of ${formed('address', before.wallet)}`;
  throw refusedFile(
    own`${ofOwner(folder.path)} holds an export of ${whose}`,
    own`Name another folder.`,
    'other_export',
  );
}

/** Refuses a folder with files of no record: they are not of this book, and whoever put them there may put others. */
async function mustHoldOnly(folder: ExportFolder, records: readonly SpendRecord[]): Promise<void> {
  const ofRecords = new Set(records.map(nameOf));
  // The name of the file may have been another one in an earlier export.
  const beginnings = new Set(records.map(beginningOf));
  const isOurs = (name: string): boolean => ofRecords.has(name) || beginnings.has(name.replace(GOODS_END, ''));
  const stranger = (await folder.names()).find((name) => !isOurs(name));
  if (stranger === undefined) return;
  throw refusedFile(
    own`${ofOwner(join(folder.path, stranger))} is of no record of this book; nothing was exported`,
    own`Name an empty folder.`,
    'other_export',
  );
}

/** The place of a record in an export. */
function nameOf(record: SpendRecord): string {
  return `purchases/${dayOf(Date.parse(record.reserved_at))}-${digestOf(record.key)}-${record.sequence}.json`;
}

/** How the name of a record's goods begins. */
function beginningOf({ key, sequence }: SpendRecord): string {
  return `goods/${digestOf(key).slice(0, 8)}-${sequence}`;
}

const GOODS_END = /(?<=^goods\/[0-9a-f]{8}-\d{1,16})-.*$/;

type Digests = Record<string, string>;

async function exportRecord(folder: ExportFolder, record: SpendRecord, digests: Digests): Promise<PurchaseFile> {
  const goods = record.delivery === null ? null : await exportGoods(folder, record, digests);
  const delivery = record.delivery && { ...record.delivery, path: basename(record.delivery.path) };
  // Paths are of this machine.
  const file: PurchaseFile = { version: EXPORT_VERSION, record: { ...record, out_dir: null, delivery }, goods };
  digests[nameOf(record)] = await folder.write(nameOf(record), file);
  return file;
}

async function exportGoods(folder: ExportFolder, record: SpendRecord, digests: Digests): Promise<string | null> {
  const { delivery } = record;
  // Larger goods no import would read. The market has them still.
  if (delivery === null || delivery.bytes > LARGEST_GOODS_BYTES) return null;
  const bytes = await readBytesOf(delivery.path, delivery.bytes).catch(() => null);
  if (bytes === null || bytes === 'other' || !isPromised(bytes, delivery)) return null;
  const usual = `${beginningOf(record)}-${basename(delivery.path)}`;
  const name = FILE_NAME.test(usual) ? usual : `${beginningOf(record)}-goods`;
  digests[name] = await folder.write(name, bytes);
  return name;
}

export interface ImportedPurchases {
  /** Of which the book knew nothing. Those that are under way go on by `openaisle wait`. */
  restored: SpendRecord[];
  /** The book has these, or later ones, and keeps its own. */
  kept: number;
  /** Records of a signed export that no book writes. The others are restored all the same. */
  leftOut: number;
  /** Whether the wallet signed the export. What is settled in another is not verified until the market confirms it. */
  isSigned: boolean;
}

/**
 * Takes an export of purchases into the book of the same wallet, and its goods into the usual folder, so that buying, waiting and collecting
 * go on from there and nothing is paid for again. All of it is checked first. An export that its wallet has not signed, as earlier versions
 * wrote them, may be anybody's: its settled records are not verified, and what is under way has to be signed by the wallet itself. Nothing
 * that is imported counts for this book's day but what may still be paid. Throws `other_export`, `export_changed` and as `readStore`.
 * `restore: false`: only checks, and answers with all there is. Payments under way go on at the market that their record names: one that is
 * not trusted is refused.
 */
export async function importPurchases(
  book: SpendBook,
  dir: string,
  { restore, isTrusted, now }: { restore: boolean; isTrusted(market: string): boolean; now(): number },
): Promise<ImportedPurchases> {
  const { folder, content } = await openForReading(dir);
  try {
    const isSigned = await mustBeOfWallet(book, folder, content);
    const { stored, leftOut } = await readRecords(book, { folder, content, isSigned, nowMs: now() });
    mustBeTrusted(stored, isTrusted);
    if (!isSigned) mustBeOnePaymentEach(stored, await book.list());
    if (!restore) return { restored: stored.map(({ record }) => record), kept: 0, leftOut, isSigned };
    const at = new Date(now()).toISOString();
    const restored: SpendRecord[] = [];
    // The oldest first: a later payment under the same key must not keep an earlier one out.
    for (const file of stored.toSorted((a, b) => a.record.sequence - b.record.sequence)) {
      const verified = isSigned && isVerified(file.record);
      const record: SpendRecord = { ...(await withGoods(book, folder, file)), imported: { at, verified } };
      if (await book.restore(record)) restored.push(record);
    }
    return { restored, kept: stored.length - restored.length, leftOut, isSigned };
  } finally {
    await folder.release();
  }
}

function mustBeTrusted(stored: readonly PurchaseFile[], isTrusted: (market: string) => boolean): void {
  const open = stored.filter(({ record }) => record.state === 'signed').map(({ record }) => record.market);
  const [stranger] = open.filter((market) => !isTrusted(market));
  if (stranger === undefined) return;
  throw refusedFile(
    own`Payments under way at ${formed('origin', stranger)} are in it, and that market was not named; nothing was restored`,
    own`If you bought there, name it by --market, or in the policy’s markets.`,
    'market_not_named',
  );
}

/**
 * A proof names no listing: told of under many, one genuine proof would hold up all of them, and count for the day as often. A book signs
 * with a nonce once.
 */
function mustBeOnePaymentEach(stored: readonly PurchaseFile[], known: readonly SpendRecord[]): void {
  const places = new Map<string, string>();
  for (const record of [...known, ...stored.map((one) => one.record)]) {
    if (record.saved === null) continue;
    const nonce = record.saved.proof.nonce.toLowerCase();
    const place = nameOf(record);
    if ((places.get(nonce) ?? place) !== place) throw notOfBook(record);
    places.set(nonce, place);
  }
}

/** Answers whether the wallet signed it. */
async function mustBeOfWallet(book: SpendBook, folder: ExportFolder, content: Manifest): Promise<boolean> {
  const wallet = book.address.toLowerCase();
  if (content.kind !== 'purchases')
    throw refusedFile(own`${ofOwner(folder.path)} holds no purchases`, undefined, 'other_export');
  if (content.wallet !== wallet) {
    const title = own`These are purchases of ${formed('address', content.wallet)}, and the wallet here is ${formed('address', wallet)}`;
    throw refusedFile(title, own`Name the wallet that bought them by --wallet.`, 'other_export');
  }
  const isSigned = await isSignedByWallet(content);
  if (content.signature !== null && !isSigned)
    throw exportChanged(
      own`The signature in ${ofOwner(folder.path)} is not that of the wallet ${formed('address', wallet)} over this export`,
    );
  return isSigned;
}

interface Opened {
  folder: ExportFolder;
  content: Manifest;
  isSigned: boolean;
  nowMs: number;
}

/**
 * Goods are checked one after the other, and read again when they are restored. A record that no book writes refuses the export, unless the
 * wallet signed it: then a settled one is left out, since the others may be all that is left of a book. One under way could be paid again.
 */
async function readRecords(book: SpendBook, opened: Opened): Promise<{ stored: PurchaseFile[]; leftOut: number }> {
  const { folder, content, isSigned, nowMs } = opened;
  const wallet = book.address.toLowerCase();
  const mustBeOnce = goodsOnce();
  const stored: PurchaseFile[] = [];
  let leftOut = 0;
  for (const name of Object.keys(content.files).filter((one) => one.startsWith('purchases/'))) {
    const file = await folder.readJson(name, purchaseFile);
    if (file === null) throw exportChanged(own`${ofOwner(join(folder.path, name))} is missing`);
    mustBeOnce(file.goods);
    const bytes = file.goods === null ? null : await folder.readBytes(file.goods);
    const isSound = name === nameOf(file.record) && isOfBook(wallet, file, bytes, nowMs);
    if (isSound && (isSigned || (await isProven(file.record, book.address)))) stored.push(file);
    else if (isSigned && !isUnderWay(file.record)) leftOut += 1;
    else throw notOfBook(file.record);
  }
  return { stored, leftOut };
}

const HASH = /^0x[0-9a-f]{64}$/;
/** Far above what a book writes. */
const LONGEST_TITLE = 1_000;
/** No wallet pays so often for one thing. */
const LARGEST_SEQUENCE = 1_000_000;
/** The bound for a record that the wallet has not signed: the book goes on counting from it, and its own must stay below the other bound. */
const LARGEST_UNSIGNED_SEQUENCE = 1_000;

/** A record that speaks of another payment than its key, or that no book could have written, could stand in the way of one that is due. */
function isOfBook(wallet: string, { record, goods }: PurchaseFile, bytes: Uint8Array | null, nowMs: number): boolean {
  const { key, market, kind, listing_id: listingId, delivery, saved } = record;
  const isFee = kind === 'listing_fee' && key.startsWith(`${market} list 0x`);
  const isPurchase = kind === 'purchase' && key === `${market} buy ${listingId} ${wallet}`;
  const isPaidByIt = saved === null || saved.proof.payer.toLowerCase() === wallet;
  // One of tomorrow would count for today's limit until tomorrow.
  const atMs = Date.parse(record.reserved_at);
  const isDated = !Number.isNaN(atMs) && dayOf(atMs) <= dayOf(nowMs);
  const isOfAMarket = isBaseUrl(market) && /^0x[0-9a-f]{40}$/i.test(record.payee);
  const isReadable = record.sequence <= LARGEST_SEQUENCE && record.title.length <= LONGEST_TITLE && fitsBook(record);
  const isSameSum = saved === null || (saved.amount_units === record.amount_units && saved.network === record.network);
  const isHashed = delivery === null || (HASH.test(delivery.salt) && HASH.test(delivery.commitment));
  const areWhole = goods === null || (delivery !== null && isHashed && bytes !== null && isPromised(bytes, delivery));
  const isWritten = isDated && isOfAMarket && isReadable && isSameSum && isHashed;
  const isSettled = record.state !== 'reserved' && (record.state !== 'signed' || saved !== null);
  return (isFee || isPurchase) && isPaidByIt && isWritten && isSettled && areWhole;
}

/** Without the wallet's signature over the export, its signature over the payment is all that tells of one. */
async function isProven(record: SpendRecord, wallet: SpendBook['address']): Promise<boolean> {
  if (record.sequence > LARGEST_UNSIGNED_SEQUENCE) return false;
  if (record.saved !== null) return await isSignedProof(record, wallet);
  return record.state !== 'over';
}

function notOfBook({ listing_id: listingId }: SpendRecord): AgentError {
  const what = listingId === null ? own`a fee` : own`listing ${listingId}`;
  return exportChanged(own`The record of ${what} is not one that this wallet’s book wrote, or its goods are not`);
}

function isBaseUrl(market: string): boolean {
  try {
    return readBaseUrl(market) === market;
  } catch {
    return false;
  }
}

/** The goods lie in the usual folder under a name without a path; where the export has none they are collected when asked for. */
async function withGoods(book: SpendBook, folder: ExportFolder, { record, goods }: PurchaseFile): Promise<SpendRecord> {
  const { delivery, listing_id: id, market } = record;
  if (delivery === null || id === null) return { ...record, out_dir: null };
  const bytes = goods === null ? null : await folder.readBytes(goods);
  const into = goodsFolder(book, market);
  const given = delivery.path.replace(new RegExp(`^(?:\\d+-)?${id}-`), '');
  const name = goodsName({ listing_id: id, artifact_filename: given, title: record.title });
  const path = bytes === null ? join(into, name) : await placeFor(bytes, into, name);
  return { ...record, out_dir: null, delivery: { ...delivery, path } };
}

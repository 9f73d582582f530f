import { basename, join } from 'node:path';
import { formed, ofOwner, own } from '../../contract/own-words.ts';
import { readBaseUrl } from '../../sdk/client.ts';
import { type AgentError, refusedFile } from '../agent-error.ts';
import { goodsFolder } from '../buy-goods.ts';
import { readBytesOf } from '../own-file.ts';
import { goodsName, matchesCommitment, saveUnderFreeName } from '../save-goods.ts';
import type { SpendBook } from '../spend-book.ts';
import { dayOf, digestOf, fitsBook, isUnderWay, isUnsigned, isVerified, type SpendRecord } from '../spend-record.ts';
import {
  createGoodsOnceCheck,
  type ExportFolder,
  exportChanged,
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
  /** Absolute path. */
  dir: string;
  wallet: string;
  /** Number of purchases and listing fees. */
  records: number;
  goods: number;
  /** Number of goods left out: missing on disk, changed, or too large for an import. `openaisle buy` downloads missing or changed ones. */
  missing: number;
}

/**
 * Writes what a wallet bought from this machine: the goods, and all records of its book except unsigned reservations (receipts, recovery
 * slips, signed proofs of payments in progress), but not the wallet's key. The wallet signs the export, so that an import can trust its
 * records. If stopped, the same call completes it. Throws `not_an_export`, `other_export`, and what the signer throws.
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
    await mustBeSameWallet(folder, begun);
    const records = (await book.list()).filter((record) => !isUnsigned(record));
    await mustHoldOnly(folder, records);
    await folder.writeManifest(begun);
    const digests: Digests = {};
    const files: PurchaseFile[] = [];
    for (const record of records) files.push(await exportRecord(folder, record, digests));
    // The signature covers only files written here, none that someone else added to the folder.
    const whole = { ...begun, files: digests, completed_at: new Date(now()).toISOString() };
    await folder.writeManifest({ ...whole, signature: await signer.signExport(digestOfManifest(whole)) });
    const bought = files.filter(({ record }) => record.delivery !== null);
    const goods = bought.filter((file) => file.goods !== null).length;
    return { dir: folder.path, wallet: book.address, records: files.length, goods, missing: bought.length - goods };
  } finally {
    await folder.release();
  }
}

async function mustBeSameWallet(folder: ExportFolder, { wallet }: PurchasesManifest): Promise<void> {
  const before = await folder.readManifest();
  if (before === null || (before.kind === 'purchases' && before.wallet === wallet)) return;
  const what = before.kind === 'store' ? own`a store` : own`the purchases of ${formed('address', before.wallet)}`;
  throw refusedFile(own`${ofOwner(folder.path)} has an export of ${what}`, own`Name another folder.`, 'other_export');
}

/** Refuses a folder with files that no record explains, because whoever added them may add more. */
async function mustHoldOnly(folder: ExportFolder, records: readonly SpendRecord[]): Promise<void> {
  const recordNames = new Set(records.map(nameOf));
  // Compares goods by the start of their names, because the rest may differ from an earlier export.
  const prefixes = new Set(records.map(goodsPrefixOf));
  const isOurs = (name: string): boolean => recordNames.has(name) || prefixes.has(name.replace(GOODS_SUFFIX, ''));
  const stranger = (await folder.names()).find((name) => !isOurs(name));
  if (stranger === undefined) return;
  throw refusedFile(
    own`${ofOwner(join(folder.path, stranger))} doesn’t belong to this wallet’s book. Nothing was exported`,
    own`Name an empty folder.`,
    'other_export',
  );
}

function nameOf(record: SpendRecord): string {
  return `purchases/${dayOf(Date.parse(record.reserved_at))}-${digestOf(record.key)}-${record.sequence}.json`;
}

function goodsPrefixOf({ key, sequence }: SpendRecord): string {
  return `goods/${digestOf(key).slice(0, 8)}-${sequence}`;
}

const GOODS_SUFFIX = /(?<=^goods\/[0-9a-f]{8}-\d{1,16})-.*$/;

type Digests = Record<string, string>;

async function exportRecord(folder: ExportFolder, record: SpendRecord, digests: Digests): Promise<PurchaseFile> {
  const goods = record.delivery === null ? null : await exportGoods(folder, record, digests);
  const delivery = record.delivery && { ...record.delivery, path: basename(record.delivery.path) };
  // Absolute paths make sense on this machine only.
  const file: PurchaseFile = { version: EXPORT_VERSION, record: { ...record, out_dir: null, delivery }, goods };
  digests[nameOf(record)] = await folder.write(nameOf(record), file);
  return file;
}

async function exportGoods(folder: ExportFolder, record: SpendRecord, digests: Digests): Promise<string | null> {
  const { delivery } = record;
  // An import wouldn't read larger goods. The market still has them.
  if (delivery === null || delivery.bytes > LARGEST_GOODS_BYTES) return null;
  const bytes = await readBytesOf(delivery.path, delivery.bytes).catch(() => null);
  if (bytes === null || bytes === 'other' || !matchesCommitment(bytes, delivery)) return null;
  const usual = `${goodsPrefixOf(record)}-${basename(delivery.path)}`;
  const name = FILE_NAME.test(usual) ? usual : `${goodsPrefixOf(record)}-goods`;
  digests[name] = await folder.write(name, bytes);
  return name;
}

export interface ImportedPurchases {
  /** Records that are new to the book. `openaisle wait` resumes payments in progress. */
  restored: SpendRecord[];
  /** Number of records that were not restored, because the book keeps its own record of the same key. */
  kept: number;
  /** Number of records of a signed export that were skipped, because no book would write them. */
  leftOut: number;
  /** Whether the wallet signed the export. If not, finished records are unverified until the market confirms them. */
  isSigned: boolean;
}

/**
 * Restores an export of purchases into the book of the same wallet, and its goods into the usual folder, so that everything resumes from
 * there and nothing is paid twice. Checks the whole export first. An export without the wallet's signature (as earlier versions wrote)
 * may come from anyone: its finished records count as unverified, and payments in progress must each be signed by the wallet. Imported
 * records count against the day's limit only while they may still be paid. Payments in progress resume at the market that their record
 * names, so untrusted markets are refused. `restore: false` only checks and returns all records. Throws `other_export`, `export_changed`,
 * `market_not_named`, and what `readStore` throws.
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
    // Oldest first, because a later record under the same key would keep an earlier one out.
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
    own`The export has payments in progress at ${formed('origin', stranger)}, a market that you haven’t allowed. Nothing was restored`,
    own`If you bought there, pass --market, or add it to markets in the policy.`,
    'market_not_named',
  );
}

/**
 * Refuses two records with the same authorization nonce. A proof doesn't name its listing, so a forged export could use one genuine proof
 * in many records. These would block all the purchases that they name, and the sum would count against the day many times.
 */
function mustBeOnePaymentEach(stored: readonly PurchaseFile[], existing: readonly SpendRecord[]): void {
  const names = new Map<string, string>();
  for (const record of [...existing, ...stored.map((one) => one.record)]) {
    if (record.saved === null) continue;
    const nonce = record.saved.proof.nonce.toLowerCase();
    const name = nameOf(record);
    if ((names.get(nonce) ?? name) !== name) throw notOfBookError(record);
    names.set(nonce, name);
  }
}

/** Throws if the export is another wallet's. Returns whether the wallet signed it. */
async function mustBeOfWallet(book: SpendBook, folder: ExportFolder, content: Manifest): Promise<boolean> {
  const wallet = book.address.toLowerCase();
  if (content.kind !== 'purchases')
    throw refusedFile(own`${ofOwner(folder.path)} has no export of purchases`, undefined, 'other_export');
  if (content.wallet !== wallet) {
    const title = own`These purchases belong to ${formed('address', content.wallet)}, but the wallet here is ${formed('address', wallet)}`;
    throw refusedFile(title, own`Name the wallet that bought them with --wallet.`, 'other_export');
  }
  const isSigned = await isSignedByWallet(content);
  if (content.signature !== null && !isSigned)
    throw exportChanged(
      own`The signature in ${ofOwner(folder.path)} isn’t the wallet’s (${formed('address', wallet)}) over this export`,
    );
  return isSigned;
}

interface OpenExport {
  folder: ExportFolder;
  content: Manifest;
  isSigned: boolean;
  nowMs: number;
}

/**
 * Reads and checks all records and goods. A record that no book would write makes the export unusable. In a signed export such a record is
 * skipped instead if it is finished, because the other records may be all that is left of a book. A record in progress is never skipped,
 * because its payment could then be made again.
 */
async function readRecords(book: SpendBook, opened: OpenExport): Promise<{ stored: PurchaseFile[]; leftOut: number }> {
  const { folder, content, isSigned, nowMs } = opened;
  const wallet = book.address.toLowerCase();
  const mustBeOnce = createGoodsOnceCheck();
  const stored: PurchaseFile[] = [];
  let leftOut = 0;
  for (const name of Object.keys(content.files).filter((one) => one.startsWith('purchases/'))) {
    const file = await folder.readJson(name, purchaseFile);
    if (file === null) throw exportChanged(own`${ofOwner(join(folder.path, name))} is missing`);
    mustBeOnce(file.goods);
    const bytes = file.goods === null ? null : await folder.readBytes(file.goods);
    const isSound = name === nameOf(file.record) && isOfBook(wallet, file, bytes, nowMs);
    if (isSound && (isSigned || (await isAcceptable(file.record, book.address)))) stored.push(file);
    else if (isSigned && !isUnderWay(file.record)) leftOut += 1;
    else throw notOfBookError(file.record);
  }
  return { stored, leftOut };
}

const HASH = /^0x[0-9a-f]{64}$/;
/** Far above what a book writes. */
const LONGEST_TITLE = 1_000;
/** No wallet pays this often for one listing. */
const LARGEST_SEQUENCE = 1_000_000;
/** Limit for unsigned exports. The book's own records are numbered after the imported ones, and must stay below `LARGEST_SEQUENCE`. */
const LARGEST_UNSIGNED_SEQUENCE = 1_000;

/** Whether this wallet's book could have written the record. A record that doesn't fit its key could block a genuine purchase. */
function isOfBook(wallet: string, { record, goods }: PurchaseFile, bytes: Uint8Array | null, nowMs: number): boolean {
  const { key, market, kind, listing_id: listingId, delivery, saved } = record;
  const isFee = kind === 'listing_fee' && key.startsWith(`${market} list 0x`);
  const isPurchase = kind === 'purchase' && key === `${market} buy ${listingId} ${wallet}`;
  const isPaidByWallet = saved === null || saved.proof.payer.toLowerCase() === wallet;
  // A record dated tomorrow would count against today's limit as well.
  const atMs = Date.parse(record.reserved_at);
  const isDated = !Number.isNaN(atMs) && dayOf(atMs) <= dayOf(nowMs);
  const hasMarketAndPayee = isBaseUrl(market) && /^0x[0-9a-f]{40}$/i.test(record.payee);
  const isReadable = record.sequence <= LARGEST_SEQUENCE && record.title.length <= LONGEST_TITLE && fitsBook(record);
  const isSameSum = saved === null || (saved.amount_units === record.amount_units && saved.network === record.network);
  const isHashed = delivery === null || (HASH.test(delivery.salt) && HASH.test(delivery.commitment));
  const areIntact =
    goods === null || (delivery !== null && isHashed && bytes !== null && matchesCommitment(bytes, delivery));
  const isWritten = isDated && hasMarketAndPayee && isReadable && isSameSum && isHashed;
  const isSettled = record.state !== 'reserved' && (record.state !== 'signed' || saved !== null);
  return (isFee || isPurchase) && isPaidByWallet && isWritten && isSettled && areIntact;
}

/** Whether to accept a record of an unsigned export. If it has a saved payment, the wallet must have signed that payment. */
async function isAcceptable(record: SpendRecord, wallet: SpendBook['address']): Promise<boolean> {
  if (record.sequence > LARGEST_UNSIGNED_SEQUENCE) return false;
  if (record.saved !== null) return await isSignedProof(record, wallet);
  return record.state !== 'over';
}

function notOfBookError({ listing_id: listingId }: SpendRecord): AgentError {
  const what = listingId === null ? own`a fee` : own`listing ${listingId}`;
  return exportChanged(own`This wallet’s book didn’t write the record of ${what}, or its goods changed`);
}

function isBaseUrl(market: string): boolean {
  try {
    return readBaseUrl(market) === market;
  } catch {
    return false;
  }
}

/** Saves the goods in the usual folder, under a name without a path. Goods missing in the export are collected on the next `buy`. */
async function withGoods(book: SpendBook, folder: ExportFolder, { record, goods }: PurchaseFile): Promise<SpendRecord> {
  const { delivery, listing_id: id, market } = record;
  if (delivery === null || id === null) return { ...record, out_dir: null };
  const bytes = goods === null ? null : await folder.readBytes(goods);
  const into = goodsFolder(book, market);
  const filename = delivery.path.replace(new RegExp(`^(?:\\d+-)?${id}-`), '');
  const name = goodsName({ listing_id: id, artifact_filename: filename, title: record.title });
  const path = bytes === null ? join(into, name) : await saveUnderFreeName(bytes, into, name);
  return { ...record, out_dir: null, delivery: { ...delivery, path } };
}

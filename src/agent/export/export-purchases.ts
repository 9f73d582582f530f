import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { refusedFile } from '../agent-error.ts';
import { dayOf, digestOf } from '../record-files.ts';
import { isPromised } from '../save-goods.ts';
import type { SpendBook } from '../spend-book.ts';
import { isUnsigned, type KeptGoods, type SpendRecord } from '../spend-record.ts';
import { type ExportFolder, openForWriting } from './export-folder.ts';
import { EXPORT_VERSION, FILE_NAME, type PurchaseFile, type PurchasesManifest } from './export-format.ts';

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
 * proof, and the goods. Not the wallet's key. Stopped at any point, the same call completes it. Throws `not_an_export`, `other_export`.
 */
export async function exportPurchases(book: SpendBook, dir: string, now: () => number): Promise<ExportedPurchases> {
  const folder = await openForWriting(dir);
  try {
    const begun: PurchasesManifest = {
      kind: 'purchases',
      version: EXPORT_VERSION,
      wallet: book.address.toLowerCase(),
      begun_at: new Date(now()).toISOString(),
      completed_at: null,
      files: {},
    };
    await mustFit(folder, begun);
    await folder.writeManifest(begun);
    const files: PurchaseFile[] = [];
    for (const record of await book.list()) if (!isUnsigned(record)) files.push(await exportRecord(folder, record));
    await folder.writeManifest({
      ...begun,
      files: await folder.digests(),
      completed_at: new Date(now()).toISOString(),
    });
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
  const whose = before.kind === 'store' ? `the store ${before.handle}` : `the purchases of ${before.wallet}`;
  throw refusedFile(`${folder.path} holds an export of ${whose}`, 'Name another folder.', 'other_export');
}

async function exportRecord(folder: ExportFolder, record: SpendRecord): Promise<PurchaseFile> {
  const name = `${dayOf(Date.parse(record.reserved_at))}-${digestOf(record.key)}-${record.sequence}`;
  const goods = record.delivery === null ? null : await exportGoods(folder, record, record.delivery);
  const delivery = record.delivery && { ...record.delivery, path: basename(record.delivery.path) };
  // Paths are of this machine.
  const file: PurchaseFile = { version: EXPORT_VERSION, record: { ...record, out_dir: null, delivery }, goods };
  await folder.write(`purchases/${name}.json`, file);
  return file;
}

async function exportGoods(folder: ExportFolder, record: SpendRecord, delivery: KeptGoods): Promise<string | null> {
  const bytes = await readFile(delivery.path).catch(() => null);
  if (bytes === null || !isPromised(bytes, delivery)) return null;
  const usual = `goods/${digestOf(record.key).slice(0, 8)}-${record.sequence}-${basename(delivery.path)}`;
  const name = FILE_NAME.test(usual) ? usual : `goods/${digestOf(record.key)}-${record.sequence}`;
  await folder.write(name, bytes);
  return name;
}

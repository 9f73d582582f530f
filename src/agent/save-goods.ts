import { access, constants, copyFile, open, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { concatBytes, hexToBytes, sha256 } from 'viem';
import type { Delivery } from '../contract/listings.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { limitCombiningMarks } from '../contract/text.ts';
import { artifactBytes, commitmentOf } from '../sdk/payments/artifact-commitment.ts';
import { type AgentError, refusedFile } from './agent-error.ts';
import { commitmentOfFile } from './goods/file-bytes.ts';
import { lockFile } from './lock-file.ts';
import { readBytesOf } from './own-file.ts';
import { makeFolderOf, moveToNew, syncFolderOf, takenFile, writePrivate } from './private-file.ts';
import type { KeptGoods } from './spend-record.ts';

const MAX_NAMES = 100;

/** Target of saved goods: a folder, in which they get a free name, or exactly this file. */
export type GoodsTarget = { folder: string } | { file: string };

/** Returns the folder, the wanted name, and whether a numbered variant of it will do. */
export function placeOf(delivery: Delivery, target: GoodsTarget): { folder: string; name: string; isExact: boolean } {
  if ('folder' in target) return { folder: resolve(target.folder), name: goodsName(delivery), isExact: false };
  const file = resolve(target.file);
  return { folder: dirname(file), name: basename(file), isExact: true };
}

/**
 * Writes delivered goods, mode 0600, durably. Reuses an identical file and never overwrites another. The returned `commitment` is computed
 * from the delivered bytes. Throws `file_exists`.
 */
export async function saveGoods(delivery: Delivery, target: GoodsTarget): Promise<KeptGoods> {
  const bytes = artifactBytes(delivery);
  const { folder, name, isExact } = placeOf(delivery, target);
  const path = await saveUnderFreeName(bytes, folder, name, isExact);
  return keptGoodsOf(delivery, { path, bytes: bytes.length, commitment: commitmentOf(delivery) });
}

export function keptGoodsOf(delivery: Delivery, saved: Pick<KeptGoods, 'path' | 'bytes' | 'commitment'>): KeptGoods {
  return {
    ...saved,
    media_type: delivery.artifact_media_type,
    salt: delivery.artifact_salt,
    receipt: delivery.receipt,
    recovery_slip: slipOf(delivery),
  };
}

/** Longer than any slip that a market makes. A longer one is dropped, so that the record stays readable. */
const LONGEST_SLIP = 16_384;

function slipOf({ recovery_slip: slip }: Delivery): string | null {
  return slip === undefined || slip.length > LONGEST_SLIP ? null : slip;
}

/** Creates the folder and checks that it is writable, before a payment rather than after. Throws errors of the file system. */
export async function prepareGoodsFolder(folder: string): Promise<void> {
  await makeFolderOf(join(resolve(folder), 'any'));
  await access(folder, constants.W_OK | constants.X_OK);
}

/** Copies goods from this disk to exactly that file, and returns it. Never overwrites another file. Throws `file_exists`. */
export async function copyGoods(kept: KeptGoods, file: string): Promise<string> {
  if (resolve(kept.path) === file) return file;
  await makeFolderOf(file);
  const lock = await lockFile(file);
  try {
    const there = await commitmentOfFile(file, kept);
    if (there === kept.commitment) return file;
    if (there !== null) throw takenFile(file);
    await copyToNew(kept, file);
    return file;
  } finally {
    await lock.release();
  }
}

async function copyToNew({ path, commitment }: KeptGoods, file: string): Promise<void> {
  // The commitment makes a name that no file of the user has.
  const copy = `${file}.${commitment.slice(2, 10)}.copy.part`;
  await rm(copy, { force: true });
  try {
    await copyFile(path, copy, constants.COPYFILE_EXCL);
    await syncFile(copy);
    if (!(await moveToNew(copy, file))) throw takenFile(file);
  } finally {
    await rm(copy, { force: true });
  }
  await syncFolderOf(file);
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Returns a file with these bytes under that name or, unless the name is exact, a numbered variant of it, writing it if needed. */
export async function saveUnderFreeName(
  bytes: Uint8Array,
  folder: string,
  name: string,
  isExact = false,
): Promise<string> {
  await makeFolderOf(join(folder, name));
  const lock = await lockFile(join(folder, name));
  try {
    for (const path of namesFor(folder, name, isExact)) {
      const existing = await readBytesOf(path, bytes.length);
      if (existing === null) {
        await writePrivate(path, bytes, 'new');
        return path;
      }
      if (existing !== 'other' && Buffer.compare(existing, bytes) === 0) return path;
    }
  } finally {
    await lock.release();
  }
  throw noFreeName(folder, name, isExact);
}

/** Returns the paths to try for goods, in order. */
export function namesFor(folder: string, name: string, isExact: boolean): string[] {
  const variants = Array.from({ length: isExact ? 0 : MAX_NAMES - 1 }, (_, index) => `${index + 2}-${name}`);
  return [name, ...variants].map((one) => join(folder, one));
}

export function noFreeName(folder: string, name: string, isExact: boolean): AgentError {
  if (isExact) return takenFile(join(folder, name));
  return refusedFile(
    own`${ofOwner(folder)} has ${MAX_NAMES} other files with the name of these goods`,
    own`Name another folder.`,
  );
}

/** Compares the file with the goods as delivered. */
export async function checkGoodsFile(kept: KeptGoods): Promise<'intact' | 'changed' | 'missing'> {
  const found = await commitmentOfFile(kept.path, kept);
  if (found === null) return 'missing';
  return found === kept.commitment ? 'intact' : 'changed';
}

/** Whether SHA-256 over salt and bytes is the listing's commitment. */
export function matchesCommitment(
  bytes: Uint8Array,
  { salt, commitment }: { salt: string; commitment: string | null },
): boolean {
  return sha256(concatBytes([hexToBytes(salt as `0x${string}`), bytes])) === commitment;
}

const LONGEST_NAME = 80;
/** Limits the work on a name from the market, which may have any length. Longer than any title that a market accepts. */
const LONGEST_READ = 480;

/** Returns a name such as `7-notes.md`: the ID and the safe part of the seller's name. Never a path, a hidden file or a device name. */
export function goodsName({
  listing_id,
  artifact_filename,
  title,
}: Pick<Delivery, 'listing_id' | 'artifact_filename' | 'title'>): string {
  const name = limitCombiningMarks((artifact_filename ?? title).slice(-LONGEST_READ)).normalize('NFKC');
  const safe = name
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    // Text that looks like a key is masked in all output, so the printed path would not name the file.
    .replaceAll(/_(?=(?:sk|rc|pc|dt|dl)_)/gi, '-')
    .replaceAll(/\.{2,}/g, '.')
    .replaceAll(/-{2,}/g, '-');
  const trimmed = safe.slice(-LONGEST_NAME).replaceAll(/^[.-]+|[.-]+$/g, '');
  return `${listing_id}-${trimmed === '' ? 'goods' : trimmed}`;
}

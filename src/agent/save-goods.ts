import { access, constants } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { concatBytes, hexToBytes, sha256 } from 'viem';
import type { Delivery } from '../contract/listings.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { limitCombiningMarks } from '../contract/text.ts';
import { artifactBytes, commitmentOf } from '../sdk/payments/artifact-commitment.ts';
import { refusedFile } from './agent-error.ts';
import { lockFile } from './lock-file.ts';
import { readBytesOf } from './own-file.ts';
import { makeFolderOf, writePrivate } from './private-file.ts';
import type { KeptGoods } from './spend-record.ts';

const MAX_NAMES = 100;

/**
 * Writes delivered goods to a folder, mode 0600, durably. Reuses an identical file and never overwrites another. The returned
 * `commitment` is computed from the delivered bytes.
 */
export async function saveGoods(delivery: Delivery, folder: string): Promise<KeptGoods> {
  const bytes = artifactBytes(delivery);
  const path = await saveUnderFreeName(bytes, resolve(folder), goodsName(delivery));
  return {
    path,
    bytes: bytes.length,
    media_type: delivery.artifact_media_type,
    commitment: commitmentOf(delivery),
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

/** Returns a file with these bytes under that name or a numbered variant of it, writing it if needed. */
export async function saveUnderFreeName(bytes: Uint8Array, folder: string, name: string): Promise<string> {
  await makeFolderOf(join(folder, name));
  const lock = await lockFile(join(folder, name));
  try {
    for (let attempt = 1; attempt <= MAX_NAMES; attempt += 1) {
      const path = join(folder, attempt === 1 ? name : `${attempt}-${name}`);
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
  throw refusedFile(
    own`${ofOwner(folder)} has ${MAX_NAMES} other files with the name of these goods`,
    own`Name another folder.`,
  );
}

/** Compares the file with the goods as delivered. */
export async function checkGoodsFile(kept: KeptGoods): Promise<'intact' | 'changed' | 'missing'> {
  const bytes = await readBytesOf(kept.path, kept.bytes);
  if (bytes === null) return 'missing';
  return bytes !== 'other' && matchesCommitment(bytes, kept) ? 'intact' : 'changed';
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
    .replaceAll(/_(?=(?:sk|rc|pc|dt)_)/gi, '-')
    .replaceAll(/\.{2,}/g, '.')
    .replaceAll(/-{2,}/g, '-');
  const trimmed = safe.slice(-LONGEST_NAME).replaceAll(/^[.-]+|[.-]+$/g, '');
  return `${listing_id}-${trimmed === '' ? 'goods' : trimmed}`;
}

import { access, constants } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { concatBytes, hexToBytes, sha256 } from 'viem';
import type { Delivery } from '../contract/listings.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { cutPiles } from '../contract/text.ts';
import { artifactBytes, commitmentOf } from '../sdk/payments/artifact-commitment.ts';
import { refusedFile } from './agent-error.ts';
import { lockFile } from './lock-file.ts';
import { readBytesOf } from './own-file.ts';
import { makeFolderOf, writePrivate } from './private-file.ts';
import type { KeptGoods } from './spend-record.ts';

/** More files of one name are no accident. */
const MOST_NAMES = 100;

/**
 * Writes delivered goods into a folder, mode 0600, whole and on the disk when it resolves. Goods that are there already stay; another
 * file of the same name is never replaced. `commitment` is that of the bytes as they came.
 */
export async function saveGoods(delivery: Delivery, folder: string): Promise<KeptGoods> {
  const bytes = artifactBytes(delivery);
  const path = await placeFor(bytes, resolve(folder), goodsName(delivery));
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

/** Far above any that a market makes. A longer one is left out, and the record stays readable. */
const LONGEST_SLIP = 16_384;

function slipOf({ recovery_slip: slip }: Delivery): string | null {
  return slip === undefined || slip.length > LONGEST_SLIP ? null : slip;
}

/** Makes the folder. Throws as the file system does where no file can be written into it: better before a payment than after. */
export async function mustTakeFiles(folder: string): Promise<void> {
  await makeFolderOf(join(resolve(folder), 'any'));
  await access(folder, constants.W_OK | constants.X_OK);
}

/** The file that holds these bytes under that name, or under one close to it; written where there was none. */
export async function placeFor(bytes: Uint8Array, folder: string, name: string): Promise<string> {
  await makeFolderOf(join(folder, name));
  const lock = await lockFile(join(folder, name));
  try {
    for (let attempt = 1; attempt <= MOST_NAMES; attempt += 1) {
      const path = join(folder, attempt === 1 ? name : `${attempt}-${name}`);
      const found = await readBytesOf(path, bytes.length);
      if (found === null) {
        await writePrivate(path, bytes, 'new');
        return path;
      }
      if (found !== 'other' && Buffer.compare(found, bytes) === 0) return path;
    }
  } finally {
    await lock.release();
  }
  throw refusedFile(
    own`${ofOwner(folder)} has ${MOST_NAMES} other files of the name of these goods`,
    own`Name another folder.`,
  );
}

/** Whether the file holds these very goods still: 'missing' and 'changed' are not. */
export async function lookAtGoods(kept: KeptGoods): Promise<'intact' | 'changed' | 'missing'> {
  const bytes = await readBytesOf(kept.path, kept.bytes);
  if (bytes === null) return 'missing';
  return bytes !== 'other' && isPromised(bytes, kept) ? 'intact' : 'changed';
}

/** SHA-256 over salt and bytes is what the listing published. */
export function isPromised(
  bytes: Uint8Array,
  { salt, commitment }: { salt: string; commitment: string | null },
): boolean {
  return sha256(concatBytes([hexToBytes(salt as `0x${string}`), bytes])) === commitment;
}

const LONGEST_NAME = 80;
/** Bounds the work on a market's words, which may have any length. No title that it takes from a seller is longer. */
const LONGEST_READ = 480;

/** `7-notes.md`: the listing, and what is harmless of the name that its seller gave. Never a path, a hidden file or a name of a device. */
export function goodsName({
  listing_id,
  artifact_filename,
  title,
}: Pick<Delivery, 'listing_id' | 'artifact_filename' | 'title'>): string {
  const given = cutPiles((artifact_filename ?? title).slice(-LONGEST_READ)).normalize('NFKC');
  const safe = given
    .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
    // What looks like a key is hidden wherever it is shown, and the file could not be found by what is left.
    .replaceAll(/_(?=(?:sk|rc|pc|dt)_)/gi, '-')
    .replaceAll(/\.{2,}/g, '.')
    .replaceAll(/-{2,}/g, '-');
  const trimmed = safe.slice(-LONGEST_NAME).replaceAll(/^[.-]+|[.-]+$/g, '');
  return `${listing_id}-${trimmed === '' ? 'goods' : trimmed}`;
}

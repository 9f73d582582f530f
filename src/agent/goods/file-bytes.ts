import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';
import { type Hex, hexToBytes } from 'viem';
import type { ByteSource } from '../../sdk/goods/byte-source.ts';
import { openOwnFile } from '../own-file.ts';

/** Opens a file for reading in parts. Each part opens it anew, so that nothing has to be closed. */
export function fileSource(path: string, size: number): ByteSource {
  return {
    size,
    slice: async (from, to) => {
      const file = await open(path, 'r');
      try {
        const { buffer, bytesRead } = await file.read(Buffer.alloc(to - from), 0, to - from, from);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    },
  };
}

const PART_BYTES = 1_048_576;

/** Hashes a source in parts. `start` is hashed first. */
export async function hashSource(source: ByteSource, start?: Uint8Array): Promise<Hex> {
  const hash = createHash('sha256');
  if (start !== undefined) hash.update(start);
  for (let at = 0; at < source.size; at += PART_BYTES)
    hash.update(await source.slice(at, Math.min(source.size, at + PART_BYTES)));
  return `0x${hash.digest('hex')}`;
}

/**
 * Hashes salt and bytes of a file of this user that has exactly `size` bytes. Returns `other` for a pipe, a link, or a file of another size
 * or user, and null if nothing is there.
 */
export async function commitmentOfFile(
  path: string,
  { bytes, salt }: { bytes: number; salt: string },
): Promise<Hex | 'other' | null> {
  const file = await openOwnFile(path, bytes);
  if (file === null || file === 'other') return file;
  try {
    const hash = createHash('sha256').update(hexToBytes(salt as Hex));
    for await (const part of file.createReadStream({ autoClose: false, highWaterMark: PART_BYTES })) hash.update(part);
    return `0x${hash.digest('hex')}`;
  } finally {
    await file.close();
  }
}

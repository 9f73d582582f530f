import type { FileHandle } from 'node:fs/promises';
import { crc32 } from 'node:zlib';

/** Kinds of blocks in the file, in the order in which they appear. */
export const BLOCK = {
  identity: 1,
  sequences: 2,
  postings: 3,
  stems: 4,
  words: 5,
  titles: 6,
  revisions: 7,
  levels: 8,
  changed: 9,
  end: 10,
} as const;
export type BlockKind = (typeof BLOCK)[keyof typeof BLOCK];

export class DamagedFile extends Error {
  override readonly name = 'DamagedFile';
}

/** Header: mark, kind, number of the block, bytes of its two parts, checksum of both, checksum of the header before it. */
const HEADER_WORDS = 7;
const HEADER_BYTES = HEADER_WORDS * 4;
/** Another byte order reads another number, and so does another kind of file. */
const MARK = 0x6f_61_73_31;
/** A single write or sync stays short, so that a stop need not wait for it. */
const SYNC_EVERY_BYTES = 32 * 1_048_576;
/** Bounds what a damaged length can reserve. The largest block holds the planes of one set: 256 MB at 2^29 listings. */
const MOST_BYTES = 2 ** 28 + 2 ** 16;

export interface BlockWriter {
  /** Writes a block. Its parts may be reused once the promise resolves. */
  write(kind: BlockKind, first: Uint8Array, second?: Uint8Array): Promise<void>;
  /** Number of blocks so far. */
  count(): number;
  bytes(): number;
}

const NOTHING = new Uint8Array(0);

/** Writes blocks to a file. Throws when the signal is aborted. */
export function createBlockWriter(handle: FileHandle, signal: AbortSignal): BlockWriter {
  let count = 0;
  let bytes = 0;
  let unsynced = 0;
  return {
    write: async (kind, first, second = NOTHING) => {
      signal.throwIfAborted();
      const parts = [headerOf({ kind, number: count, first, second }), first, second];
      const size = HEADER_BYTES + first.byteLength + second.byteLength;
      await writeAll(
        handle,
        parts.filter((part) => part.byteLength > 0),
        size,
      );
      count += 1;
      bytes += size;
      unsynced += size;
      if (unsynced < SYNC_EVERY_BYTES) return;
      unsynced = 0;
      signal.throwIfAborted();
      await handle.datasync();
    },
    count: () => count,
    bytes: () => bytes,
  };
}

async function writeAll(handle: FileHandle, parts: Uint8Array[], size: number): Promise<void> {
  const { bytesWritten } = await handle.writev(parts);
  if (bytesWritten === size) return;
  // A nearly full disk takes only a part at first; the rest then fails with the reason.
  await handle.writeFile(Buffer.concat(parts).subarray(bytesWritten));
}

interface Block {
  kind: BlockKind;
  number: number;
  first: Uint8Array;
  second: Uint8Array;
}

function headerOf({ kind, number, first, second }: Block): Uint8Array {
  const header = new Uint32Array(HEADER_WORDS);
  header.set([MARK, kind, number, first.byteLength, second.byteLength, checksumOf(first, second)]);
  const bytes = new Uint8Array(header.buffer);
  header[HEADER_WORDS - 1] = crc32(bytes.subarray(0, HEADER_BYTES - 4));
  return bytes;
}

function checksumOf(first: Uint8Array, second: Uint8Array): number {
  const crc = crc32(first);
  // For an empty buffer, Node 22 returns 0 instead of the previous checksum.
  return second.byteLength === 0 ? crc : crc32(second, crc);
}

export interface BlockReader {
  /** Reads the next block. `first` is valid until the next call, `second` belongs to the caller. Throws DamagedFile if the file is damaged. */
  next(): Promise<{ kind: number; first: Uint8Array<ArrayBuffer>; second: Buffer }>;
  /** Number of blocks so far. */
  count(): number;
  isAtEnd(): boolean;
}

export async function createBlockReader(handle: FileHandle): Promise<BlockReader> {
  const { size } = await handle.stat();
  const header = new Uint32Array(HEADER_WORDS);
  const headerBytes = new Uint8Array(header.buffer);
  let scratch = new Uint8Array(1 << 16);
  let at = 0;
  let count = 0;

  async function readInto(parts: Uint8Array[]): Promise<void> {
    const wanted = parts.reduce((sum, part) => sum + part.byteLength, 0);
    if (at + wanted > size) throw new DamagedFile('the file ends too early');
    const { bytesRead } = await handle.readv(parts, at);
    if (bytesRead !== wanted) throw new DamagedFile('the file ends too early');
    at += wanted;
  }

  return {
    next: async () => {
      await readInto([headerBytes]);
      const [mark, kind = 0, number, firstBytes = 0, secondBytes = 0, checksum, ofHeader] = header;
      const isWhole =
        mark === MARK && number === count && crc32(headerBytes.subarray(0, HEADER_BYTES - 4)) === ofHeader;
      if (!isWhole || firstBytes + secondBytes > MOST_BYTES) throw new DamagedFile(`block ${count} begins wrongly`);
      if (scratch.byteLength < firstBytes) scratch = new Uint8Array(firstBytes * 2);
      const first = scratch.subarray(0, firstBytes);
      const second = Buffer.allocUnsafeSlow(secondBytes);
      const parts = [first, second].filter((part) => part.byteLength > 0);
      if (parts.length > 0) await readInto(parts);
      if (checksumOf(first, second) !== checksum) throw new DamagedFile(`block ${count} has a wrong checksum`);
      count += 1;
      return { kind, first, second };
    },
    count: () => count,
    isAtEnd: () => at === size,
  };
}

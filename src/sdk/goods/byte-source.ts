/** Bytes that can be read in parts and more than once, such as those of a file. */
export interface ByteSource {
  readonly size: number;
  /** Returns the bytes from `from` up to `to`, which is not included. */
  slice(from: number, to: number): Promise<Uint8Array>;
}

export type Bytes = Blob | Uint8Array | ByteSource;

export function sourceOf(bytes: Bytes): ByteSource {
  if (bytes instanceof Uint8Array) {
    return { size: bytes.length, slice: async (from, to) => bytes.subarray(from, to) };
  }
  if (!(bytes instanceof Blob)) return bytes;
  return {
    size: bytes.size,
    slice: async (from, to) => new Uint8Array(await bytes.slice(from, to).arrayBuffer()),
  };
}

/** Reads a part. Throws a TypeError if the source has become shorter. */
export async function readPart(source: ByteSource, from: number, to: number): Promise<Uint8Array> {
  const part = await source.slice(from, to);
  if (part.length !== to - from) throw new TypeError('the bytes changed while they were read');
  return part;
}

/** Memory for one read of a source. */
const PART_BYTES = 1_048_576;

/** Iterates over a range of a source in parts of at most a mebibyte. */
export async function* partsOf(source: ByteSource, from: number, to: number): AsyncGenerator<Uint8Array> {
  for (let at = from; at < to; at += PART_BYTES) yield await readPart(source, at, Math.min(to, at + PART_BYTES));
}

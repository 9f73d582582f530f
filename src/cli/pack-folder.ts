import { readdir, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { fileSource } from '../agent/goods/file-bytes.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { type ByteSource, readPart, sourceOf } from '../sdk/goods/byte-source.ts';
import { wrongUse } from './cli-error.ts';

const BLOCK = 512;
const MAX_FILES = 1_000;
/** Longest file name and longest folder path in a ustar header, in bytes. */
const [NAME_BYTES, PREFIX_BYTES] = [100, 155];

export interface PackedFolder {
  /** An archive in the format `ustar` (POSIX tar), not compressed. It is made while it is read, so it takes no memory and no disk. */
  source: ByteSource;
  /** Paths in the archive, in order. */
  files: readonly string[];
  /** Skipped paths. Files whose names start with a dot may contain private data. */
  leftOut: readonly string[];
}

/**
 * Packs a folder reproducibly: files only, sorted by the bytes of their paths, with time, owner and group 0. The archive depends on names,
 * bytes and the owner's execute bit alone, so every machine makes the same one. Refuses links, devices and names that are too long.
 */
export async function packFolder(folder: string): Promise<PackedFolder> {
  const collected: FolderContent = { files: [], leftOut: [] };
  await collectFiles(folder, '', collected);
  const files = collected.files.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  if (files.length === 0) throw wrongUse(own`${ofOwner(folder)} has no files`);
  const parts: ByteSource[] = [];
  for (const path of files) {
    const at = join(folder, path);
    const { mode, size } = await stat(at);
    parts.push(sourceOf(tarHeader(path, size, (mode & 0o100) !== 0)), fileSource(at, size));
    parts.push(sourceOf(new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK)));
  }
  return { source: joinSources([...parts, sourceOf(new Uint8Array(2 * BLOCK))]), files, leftOut: collected.leftOut };
}

function joinSources(parts: readonly ByteSource[]): ByteSource {
  const size = parts.reduce((total, part) => total + part.size, 0);
  return {
    size,
    slice: async (from, to) => {
      const read: Uint8Array[] = [];
      let start = 0;
      for (const part of parts) {
        const [first, end] = [Math.max(from - start, 0), Math.min(to - start, part.size)];
        if (first < end) read.push(await readPart(part, first, end));
        start += part.size;
      }
      return Buffer.concat(read);
    },
  };
}

interface FolderContent {
  files: string[];
  leftOut: string[];
}

async function collectFiles(folder: string, under: string, collected: FolderContent): Promise<void> {
  for (const entry of await readdir(join(folder, under), { withFileTypes: true })) {
    const path = posix.join(under, entry.name);
    if (entry.name.startsWith('.')) collected.leftOut.push(path);
    else if (entry.isDirectory()) await collectFiles(folder, path, collected);
    else if (entry.isFile()) collected.files.push(path);
    else
      throw wrongUse(
        own`${ofOwner(join(folder, path))} is neither a file nor a folder`,
        own`If it is a link, put a copy of the file in its place, or remove it.`,
      );
    if (collected.files.length > MAX_FILES) throw wrongUse(own`${ofOwner(folder)} has more than ${MAX_FILES} files`);
  }
}

function tarHeader(path: string, size: number, isExecutable: boolean): Uint8Array {
  const block = Buffer.alloc(BLOCK);
  const [name, prefix] = splitPath(path);
  block.write(name, 0);
  block.write(isExecutable ? '0000755' : '0000644', 100);
  block.write('0000000', 108);
  block.write('0000000', 116);
  block.write(size.toString(8).padStart(11, '0'), 124);
  block.write('00000000000', 136);
  // The checksum is computed with its own field set to spaces.
  block.write('        ', 148);
  block.write('0', 156);
  block.write('ustar\u000000', 257);
  block.write(prefix, 345);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148);
  return block;
}

/** Splits a path at a slash so that both parts fit the header. */
function splitPath(path: string): [name: string, prefix: string] {
  const bytes = (text: string): number => Buffer.byteLength(text);
  if (bytes(path) <= NAME_BYTES) return [path, ''];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) {
    const [prefix, name] = [path.slice(0, at), path.slice(at + 1)];
    if (bytes(name) <= NAME_BYTES && bytes(prefix) <= PREFIX_BYTES) return [name, prefix];
  }
  throw wrongUse(
    own`The name ${ofOwner(path)} is too long for a tar archive`,
    own`Shorten it, or pack the folder yourself.`,
  );
}

import { readdir, readFile, stat } from 'node:fs/promises';
import { basename, extname, join, posix, resolve } from 'node:path';
import { LISTING_FIELDS } from '../contract/listing-fields.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { AISLES, DEFAULT_LIMITS } from '../contract/vocabulary.ts';
import { wrongUse } from './cli-error.ts';
import type { Options } from './options.ts';
import { asText, readNamed } from './read-values.ts';

/** Markets may allow more than the default, and refuse larger goods themselves. */
const MAX_BYTES = 16 * DEFAULT_LIMITS.artifact_bytes;

const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv; charset=utf-8',
  '.gz': 'application/gzip',
  '.html': 'text/html; charset=utf-8',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.jsonl': 'application/jsonl',
  '.md': 'text/markdown; charset=utf-8',
  '.pdf': 'application/pdf',
  '.png': 'image/png',
  '.py': 'text/x-python; charset=utf-8',
  '.sqlite': 'application/vnd.sqlite3',
  '.svg': 'image/svg+xml',
  '.tar': 'application/x-tar',
  '.txt': 'text/plain; charset=utf-8',
  '.yaml': 'application/yaml',
  '.yml': 'application/yaml',
  '.zip': 'application/zip',
};

export interface ReadGoods {
  fields: {
    artifact: string;
    artifact_encoding: 'utf-8' | 'base64';
    artifact_media_type?: string;
    artifact_filename?: string;
  };
  bytes: number;
  /** Paths of the goods on this machine. */
  files: readonly string[];
  /** Messages for the user on how the goods were read. */
  notes: readonly string[];
}

/** Reads goods for a listing: UTF-8 as text, other bytes as base64. A folder is packed by `packFolder`. */
export async function readGoods(path: string, mediaType?: string): Promise<ReadGoods> {
  const full = resolve(path);
  if (!(await stat(full)).isDirectory()) {
    const { bytes, name } = await readNamed(full, MAX_BYTES);
    if (bytes.length === 0) throw wrongUse(own`${ofOwner(path)} is empty`);
    return { ...asArtifact(bytes, name, mediaType, []), files: [full] };
  }
  const { bytes, files, leftOut } = await packFolder(full, MAX_BYTES);
  const notes = [
    `Packed ${files.length === 1 ? '1 file' : `${files.length} files`} as one tar archive: ${files.slice(0, 10).join(', ')}${files.length > 10 ? ', …' : ''}`,
    ...(leftOut.length === 0 ? [] : [`Skipped, because the name starts with a dot: ${leftOut.join(', ')}`]),
  ];
  return {
    ...asArtifact(bytes, `${basename(full)}.tar`, mediaType, notes),
    files: files.map((path) => join(full, path)),
  };
}

function asArtifact(
  bytes: Uint8Array,
  name: string,
  type: string | undefined,
  notes: readonly string[],
): Omit<ReadGoods, 'files'> {
  const text = asText(bytes);
  const mediaType = type ?? MEDIA_TYPES[extname(name).toLowerCase()];
  const isPlainName = LISTING_FIELDS.artifact_filename.schema.safeParse(name).success;
  return {
    fields: {
      artifact: text ?? Buffer.from(bytes).toString('base64'),
      artifact_encoding: text === null ? 'base64' : 'utf-8',
      ...(mediaType === undefined ? {} : { artifact_media_type: mediaType }),
      ...(isPlainName ? { artifact_filename: name } : {}),
    },
    bytes: bytes.length,
    notes: isPlainName
      ? notes
      : [...notes, `Buyers won’t see the file name ${name}: it has characters that a market refuses`],
  };
}

export function fieldsOf({ aisle, tag, keyword, license }: Options) {
  const known = AISLES.find((one) => one === aisle);
  return {
    ...(known === undefined ? {} : { aisle: known }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(keyword === undefined ? {} : { keywords: keyword.length === 1 && keyword[0] === '-' ? [] : keyword }),
    ...(license === undefined ? {} : { license }),
  };
}

const BLOCK = 512;
const MAX_FILES = 1_000;
/** Longest file name and longest folder path in a ustar header, in bytes. */
const [NAME_BYTES, PREFIX_BYTES] = [100, 155];

export interface PackedFolder {
  /** An archive in the format `ustar` (POSIX tar), not compressed. */
  bytes: Uint8Array;
  /** Paths in the archive, in order. */
  files: readonly string[];
  /** Skipped paths. Files whose names start with a dot may contain private data. */
  leftOut: readonly string[];
}

/**
 * Packs a folder reproducibly: files only, sorted by the bytes of their paths, with time, owner and group 0. The archive depends on names,
 * bytes and the owner's execute bit alone, so every machine makes the same one. Refuses links, devices and names that are too long.
 */
export async function packFolder(folder: string, mostBytes: number): Promise<PackedFolder> {
  const collected: FolderContent = { files: [], leftOut: [] };
  await collectFiles(folder, '', collected);
  const files = collected.files.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  if (files.length === 0) throw wrongUse(own`${ofOwner(folder)} has no files`);
  const parts: Uint8Array[] = [];
  let size = 2 * BLOCK;
  for (const path of files) {
    const at = join(folder, path);
    const { mode, size: bytes } = await stat(at);
    size += BLOCK + Math.ceil(bytes / BLOCK) * BLOCK;
    if (size > mostBytes)
      throw wrongUse(
        own`${ofOwner(folder)} is larger than ${mostBytes} bytes when packed`,
        undefined,
        'file_too_large',
      );
    const content = await readFile(at);
    parts.push(tarHeader(path, content.length, (mode & 0o100) !== 0), content);
    parts.push(new Uint8Array((BLOCK - (content.length % BLOCK)) % BLOCK));
  }
  return { bytes: Buffer.concat([...parts, new Uint8Array(2 * BLOCK)]), files, leftOut: collected.leftOut };
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

import { stat } from 'node:fs/promises';
import { basename, extname, join, resolve } from 'node:path';
import { fileSource } from '../agent/goods/file-bytes.ts';
import type { GoodsFile } from '../agent/goods/goods-file.ts';
import { LISTING_FIELDS } from '../contract/listing-fields.ts';
import { ofOwner, own } from '../contract/own-words.ts';
import { AISLES } from '../contract/vocabulary.ts';
import { wrongUse } from './cli-error.ts';
import type { Options } from './options.ts';
import { packFolder } from './pack-folder.ts';

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
  /** Fields of the listing, without the goods themselves. */
  fields: { artifact_media_type?: string; artifact_filename?: string };
  /** The goods. They are read only when they are sent, in parts. */
  file: GoodsFile;
  /** Paths of the goods on this machine. */
  files: readonly string[];
  /** Messages for the user on how the goods were read. */
  notes: readonly string[];
}

/** Finds goods for a listing: a file, or a folder as `packFolder` packs it. */
export async function readGoods(path: string, mediaType?: string): Promise<ReadGoods> {
  const full = resolve(path);
  const stats = await stat(full);
  if (!stats.isDirectory()) {
    if (!stats.isFile()) throw wrongUse(own`${ofOwner(path)} isn’t a file`);
    if (stats.size === 0) throw wrongUse(own`${ofOwner(path)} is empty`);
    const source = fileSource(full, stats.size);
    return { ...describeGoods({ source, path: full }, basename(full), mediaType, []), files: [full] };
  }
  const { source, files, leftOut } = await packFolder(full);
  const notes = [
    `Packed ${files.length === 1 ? '1 file' : `${files.length} files`} as one tar archive: ${files.slice(0, 10).join(', ')}${files.length > 10 ? ', …' : ''}`,
    ...(leftOut.length === 0 ? [] : [`Skipped, because the name starts with a dot: ${leftOut.join(', ')}`]),
  ];
  return {
    ...describeGoods({ source, path: full }, `${basename(full)}.tar`, mediaType, notes),
    files: files.map((path) => join(full, path)),
  };
}

function describeGoods(
  file: GoodsFile,
  name: string,
  type: string | undefined,
  notes: readonly string[],
): Omit<ReadGoods, 'files'> {
  const mediaType = type ?? MEDIA_TYPES[extname(name).toLowerCase()];
  const isPlainName = LISTING_FIELDS.artifact_filename.schema.safeParse(name).success;
  return {
    fields: {
      ...(mediaType === undefined ? {} : { artifact_media_type: mediaType }),
      ...(isPlainName ? { artifact_filename: name } : {}),
    },
    file: {
      ...file,
      ...(mediaType === undefined ? {} : { mediaType }),
      ...(isPlainName ? { filename: name } : {}),
    },
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

import { stat } from 'node:fs/promises';
import { basename, extname, resolve } from 'node:path';
import { LISTING_FIELDS } from '../contract/listing-fields.ts';
import { AISLES, DEFAULT_LIMITS } from '../contract/vocabulary.ts';
import { wrongUse } from './cli-error.ts';
import type { Options } from './options.ts';
import { packFolder } from './pack-folder.ts';
import { asText, readNamed } from './read-values.ts';

/** Markets may allow more than the default; they refuse what is too large themselves. */
const MOST_BYTES = 16 * DEFAULT_LIMITS.artifact_bytes;

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
  /** The fields of a listing that say what its goods are. */
  fields: {
    artifact: string;
    artifact_encoding: 'utf-8' | 'base64';
    artifact_media_type?: string;
    artifact_filename?: string;
  };
  bytes: number;
  /** What a person should know of how they were read. */
  notes: readonly string[];
}

/** A file as the artifact of a listing: as text where it is UTF-8, else as base64. A folder is packed by `packFolder`. */
export async function readGoods(path: string, mediaType?: string): Promise<ReadGoods> {
  const full = resolve(path);
  if (!(await stat(full)).isDirectory()) {
    const { bytes, name } = await readNamed(full, MOST_BYTES);
    if (bytes.length === 0) throw wrongUse(`${path} is empty`);
    return asArtifact(bytes, name, mediaType, []);
  }
  const { bytes, files, leftOut } = await packFolder(full, MOST_BYTES);
  const notes = [
    `${files.length} files packed as one tar archive: ${files.slice(0, 10).join(', ')}${files.length > 10 ? ', …' : ''}`,
    ...(leftOut.length === 0 ? [] : [`Left out, since its name begins with a dot: ${leftOut.join(', ')}`]),
  ];
  return asArtifact(bytes, `${basename(full)}.tar`, mediaType, notes);
}

function asArtifact(bytes: Uint8Array, name: string, given: string | undefined, notes: readonly string[]): ReadGoods {
  const text = asText(bytes);
  const mediaType = given ?? MEDIA_TYPES[extname(name).toLowerCase()];
  const isPlainName = LISTING_FIELDS.artifact_filename.given.safeParse(name).success;
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
      : [...notes, `The name ${name} is not told to buyers: it has characters that a market refuses`],
  };
}

/** What options say of goods, where they say it. */
export function saidOf({ aisle, tag, license }: Options) {
  const named = AISLES.find((one) => one === aisle);
  return {
    ...(named === undefined ? {} : { aisle: named }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(license === undefined ? {} : { license }),
  };
}

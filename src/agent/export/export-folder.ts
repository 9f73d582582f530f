import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { chmod, lstat, mkdir, open, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { z } from 'zod';
import { type OwnWords, ofOwner, own } from '../../contract/own-words.ts';
import { DEFAULT_LIMITS } from '../../contract/vocabulary.ts';
import { type AgentError, refusedFile } from '../agent-error.ts';
import { type FileLock, lockFile, lockNameOf } from '../lock-file.ts';
import { makeFolderOf, writePrivate } from '../private-file.ts';
import { FILE_NAME, type Manifest, manifest } from './export-format.ts';

const MANIFEST = 'export.json';
/** A record of the book with the body of a listing is the largest but for all sales of a store. */
const LARGEST_BYTES = 67_108_864;
/** Goods are a quarter of a megabyte as a rule, and twice that at most; a market may have had other limits. */
export const LARGEST_GOODS_BYTES = 16 * DEFAULT_LIMITS.artifact_bytes;
/** Files of one export, and bytes of them in all. */
const MOST_FILES = 100_000;
const MOST_BYTES = 4_294_967_296;
const INNER = ['listings', 'purchases', 'goods'] as const;

/** The folder of one export. Names are checked before any file is touched, and links are never followed. */
export interface ExportFolder {
  readonly path: string;
  /** Null: there is none. Throws `export_unreadable`. */
  readManifest(): Promise<Manifest | null>;
  writeManifest(content: Manifest): Promise<void>;
  /** Null: there is none. Throws `export_unreadable`. */
  readJson<S extends z.ZodType>(name: string, schema: S): Promise<z.output<S> | null>;
  /** Null: there is none. */
  readBytes(name: string): Promise<Uint8Array | null>;
  /** Whole and on the disk when it resolves, mode 0600. Answers with the digest of what was written. */
  write(name: string, content: unknown): Promise<string>;
  /** Every file that is there, whoever put it there. */
  names(): Promise<string[]>;
  /** The digest of every file that is there. */
  digests(): Promise<Record<string, string>>;
  release(): Promise<void>;
}

/** Makes the folder, mode 0700, or takes one that is empty or holds an export. One process at a time works on it. */
export async function openForWriting(dir: string): Promise<ExportFolder> {
  const path = resolve(dir);
  await makeFolderOf(join(path, MANIFEST));
  const names = await readdir(path);
  const isExport =
    names.includes(MANIFEST) || names.every((name) => name.startsWith(MANIFEST) || name === lockNameOf(MANIFEST));
  if (!isExport)
    throw refusedFile(
      own`${ofOwner(path)} holds other files than an export`,
      own`Name a new folder, or an empty one.`,
      'not_an_export',
    );
  const folder = await folderAt(path);
  try {
    // Only what is an export is closed to others.
    await folder.readManifest();
    await chmod(path, 0o700);
    return folder;
  } catch (error) {
    await folder.release();
    throw error;
  }
}

/**
 * Every file of it is compared with its digest, here and whenever it is read again: it may be changed meanwhile. Throws `not_an_export`,
 * `not_whole`, `export_unreadable`, and `export_changed` where a file is not what its digest says.
 */
export async function openForReading(dir: string): Promise<{ folder: ExportFolder; content: Manifest }> {
  const { folder: opened, content } = await openWhole(dir);
  const folder = heldToDigests(opened, content.files);
  try {
    await mustBeBounded(folder.path, Object.keys(content.files));
    for (const name of Object.keys(content.files))
      if ((await folder.readBytes(name)) === null)
        throw exportChanged(own`${ofOwner(join(folder.path, name))} is missing`);
    return { folder, content };
  } catch (error) {
    await folder.release();
    throw error;
  }
}

/** Before anything is read: a folder of somebody else must not fill the memory, or keep this process busy for hours. */
async function mustBeBounded(path: string, names: readonly string[]): Promise<void> {
  let bytes = 0;
  for (const name of names) bytes += (await lstat(join(path, name)).catch(() => null))?.size ?? 0;
  if (names.length <= MOST_FILES && bytes <= MOST_BYTES) return;
  throw refusedFile(
    own`${ofOwner(path)} holds more than an export does: ${names.length} files of ${bytes} bytes`,
    own`Do not use it.`,
    'export_unreadable',
  );
}

function heldToDigests(folder: ExportFolder, files: Manifest['files']): ExportFolder {
  const readBytes = async (name: string): Promise<Uint8Array | null> => {
    const digest = files[name];
    // A file that the export does not list is none of it.
    if (digest === undefined) return null;
    const bytes = await folder.readBytes(name);
    if (bytes === null || digestOf(bytes) === digest) return bytes;
    throw exportChanged(own`${ofOwner(join(folder.path, name))} is not as it was exported`);
  };
  return {
    ...folder,
    readBytes,
    readJson: async (name, schema) => {
      const bytes = await readBytes(name);
      return bytes === null ? null : parse(bytes, schema, join(folder.path, name));
    },
  };
}

async function openWhole(dir: string): Promise<{ folder: ExportFolder; content: Manifest }> {
  const path = resolve(dir);
  // A folder that is not there is told by its name.
  await lstat(path);
  const folder = await folderAt(path);
  try {
    const content = await folder.readManifest();
    if (content === null)
      throw refusedFile(own`${ofOwner(path)} holds no export`, own`openaisle export DIR writes one.`, 'not_an_export');
    if (content.completed_at === null) {
      const title = own`The export in ${ofOwner(path)} is not whole`;
      throw refusedFile(title, own`Run the same openaisle export again: it goes on.`, 'not_whole');
    }
    return { folder, content };
  } catch (error) {
    await folder.release();
    throw error;
  }
}

/** What an export is of, before its files are looked at. Throws as `openForReading`. */
export async function readKind(dir: string): Promise<Manifest['kind']> {
  const { folder, content } = await openWhole(dir);
  await folder.release();
  return content.kind;
}

/** Nothing of an export is used where one file of it is not what it was. */
export function exportChanged(title: OwnWords): AgentError {
  return refusedFile(title, own`Take another copy of the export. Nothing was listed or restored.`, 'export_changed');
}

async function folderAt(path: string): Promise<ExportFolder> {
  const lock: FileLock = await lockFile(join(path, MANIFEST));
  const readJson = async <S extends z.ZodType>(name: string, schema: S): Promise<z.output<S> | null> => {
    const bytes = await readPlain(join(path, name));
    return bytes === null ? null : parse(bytes, schema, join(path, name));
  };
  return {
    path,
    readManifest: () => readJson(MANIFEST, manifest),
    writeManifest: (content) => writePrivate(join(path, MANIFEST), printJson(content), 'replace'),
    readJson: async (name, schema) => {
      await mustBeInside(path, name);
      return readJson(name, schema);
    },
    readBytes: async (name) => {
      await mustBeInside(path, name);
      return readPlain(join(path, name), largestOf(name));
    },
    write: async (name, content) => {
      await mustBeInside(path, name);
      const [inner = ''] = name.split('/');
      if (name.includes('/')) await mkdir(join(path, inner), { recursive: true, mode: 0o700 });
      const bytes = content instanceof Uint8Array ? content : Buffer.from(printJson(content));
      await writePrivate(join(path, name), bytes, 'replace');
      return digestOf(bytes);
    },
    names: () => readNames(path),
    digests: () => readDigests(path),
    release: () => lock.release(),
  };
}

/** Refuses goods that two of an export name: each has a file of its own, and one large file would be held as often as it is named. */
export function goodsOnce(): (name: string | null) => void {
  const names = new Set<string>();
  return (name) => {
    if (name !== null && names.has(name)) throw exportChanged(own`Two records name the same goods, ${ofOwner(name)}`);
    if (name !== null) names.add(name);
  };
}

/** False for a link to a folder: it may lead out. Null: there is nothing. */
async function isFolder(path: string): Promise<boolean | null> {
  return await lstat(path).then(
    (found) => found.isDirectory(),
    () => null,
  );
}

async function mustBeInside(path: string, name: string): Promise<void> {
  const [inner = '', file] = name.split('/');
  const leadsOut = file !== undefined && (await isFolder(join(path, inner))) === false;
  if (FILE_NAME.test(name) && !leadsOut) return;
  throw refusedFile(own`The export names a file outside of its folder`, own`Do not use it.`, 'export_unreadable');
}

async function readNames(path: string): Promise<string[]> {
  const names: string[] = [];
  for (const inner of INNER) {
    if (!(await isFolder(join(path, inner)))) continue;
    const found = await readdir(join(path, inner));
    names.push(...found.map((name) => `${inner}/${name}`));
  }
  if ((await isFolder(join(path, 'sales.json'))) !== null) names.push('sales.json');
  // Leftovers of a killed process are none of it.
  return names.filter((name) => FILE_NAME.test(name) && !name.endsWith('.tmp')).toSorted();
}

async function readDigests(path: string): Promise<Record<string, string>> {
  const digests: Record<string, string> = {};
  for (const name of await readNames(path)) {
    const bytes = await readPlain(join(path, name), largestOf(name));
    if (bytes !== null) digests[name] = digestOf(bytes);
  }
  return digests;
}

function digestOf(bytes: Uint8Array): string {
  return `0x${createHash('sha256').update(bytes).digest('hex')}`;
}

function printJson(content: unknown): string {
  return `${JSON.stringify(content, null, 2)}\n`;
}

function parse<S extends z.ZodType>(bytes: Uint8Array, schema: S, path: string): z.output<S> {
  try {
    const read = schema.safeParse(JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)));
    if (read.success) return read.data;
  } catch {
    // Told below, without what stands in it.
  }
  throw refusedFile(
    own`${ofOwner(path)} is no part of an export that this version reads`,
    undefined,
    'export_unreadable',
  );
}

function largestOf(name: string): number {
  return name.startsWith('goods/') ? LARGEST_GOODS_BYTES : LARGEST_BYTES;
}

async function readPlain(path: string, largestBytes = LARGEST_BYTES): Promise<Uint8Array | null> {
  // A pipe would keep who opens it waiting.
  const how = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  const file = await open(path, how).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : null;
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP')
      throw refusedFile(own`${ofOwner(path)} is a symbolic link`, own`Do not use this export.`, 'export_unreadable');
    throw error;
  });
  if (file === null) return null;
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size > largestBytes)
      throw refusedFile(own`${ofOwner(path)} is no file of an export`, undefined, 'export_unreadable');
    return await file.readFile();
  } finally {
    await file.close();
  }
}

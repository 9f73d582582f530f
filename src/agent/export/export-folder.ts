import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { z } from 'zod';
import { type OwnWords, ofOwner, own } from '../../contract/own-words.ts';
import { DEFAULT_LIMITS } from '../../contract/vocabulary.ts';
import { type AgentError, refusedFile } from '../agent-error.ts';
import { type FileLock, lockFile, lockNameOf } from '../lock-file.ts';
import { openPlainFile } from '../own-file.ts';
import { makeFolderOf, writePrivate } from '../private-file.ts';
import { FILE_NAME, type Manifest, manifest } from './export-format.ts';

const MANIFEST = 'export.json';
/** Large enough for all sales of a store, the largest JSON file of an export. */
const LARGEST_BYTES = 67_108_864;
/** Far above the usual limit of goods, because a market may have had a higher one. */
export const LARGEST_GOODS_BYTES = 16 * DEFAULT_LIMITS.artifact_bytes;
/** Limits on one export's number of files and total size. */
const MAX_FILES = 100_000;
const MAX_BYTES = 4_294_967_296;
const SUBFOLDERS = ['listings', 'purchases', 'goods'] as const;

/** The folder of one export. Names are checked before a file is opened, and links are never followed. */
export interface ExportFolder {
  readonly path: string;
  /** Null if there is none. Throws `export_unreadable`. */
  readManifest(): Promise<Manifest | null>;
  writeManifest(content: Manifest): Promise<void>;
  /** Null if there is none. Throws `export_unreadable`. */
  readJson<S extends z.ZodType>(name: string, schema: S): Promise<z.output<S> | null>;
  /** Null if there is none. */
  readBytes(name: string): Promise<Uint8Array | null>;
  /** Writes durably, mode 0600, and returns the digest. */
  write(name: string, content: unknown): Promise<string>;
  /** Returns the names of all files in the folder that an export may have, whoever wrote them. */
  names(): Promise<string[]>;
  digests(): Promise<Record<string, string>>;
  release(): Promise<void>;
}

/** Creates the folder, mode 0700, or uses one that is empty or has an export. Locks it. */
export async function openForWriting(dir: string): Promise<ExportFolder> {
  const path = resolve(dir);
  await makeFolderOf(join(path, MANIFEST));
  const names = await readdir(path);
  const isExport =
    names.includes(MANIFEST) || names.every((name) => name.startsWith(MANIFEST) || name === lockNameOf(MANIFEST));
  if (!isExport)
    throw refusedFile(
      own`${ofOwner(path)} has files that aren’t an export’s`,
      own`Name a new or empty folder.`,
      'not_an_export',
    );
  const folder = await folderAt(path);
  try {
    // The mode is changed only after the folder proved to be an export.
    await folder.readManifest();
    await chmod(path, 0o700);
    return folder;
  } catch (error) {
    await folder.release();
    throw error;
  }
}

/**
 * Opens a complete export and checks every file's digest, now and at each later read, since files may change meanwhile. Throws
 * `not_an_export`, `not_whole`, `export_unreadable`, and `export_changed` if a digest doesn't match.
 */
export async function openForReading(dir: string): Promise<{ folder: ExportFolder; content: Manifest }> {
  const { folder: opened, content } = await openComplete(dir);
  const folder = withDigestChecks(opened, content.files);
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

/** Refuses an untrusted folder before reading it if it would fill memory or take hours. */
async function mustBeBounded(path: string, names: readonly string[]): Promise<void> {
  let bytes = 0;
  for (const name of names) bytes += (await lstat(join(path, name)).catch(() => null))?.size ?? 0;
  if (names.length <= MAX_FILES && bytes <= MAX_BYTES) return;
  throw refusedFile(
    own`${ofOwner(path)} is too large for an export: ${names.length} files with ${bytes} bytes`,
    own`Don’t use it.`,
    'export_unreadable',
  );
}

function withDigestChecks(folder: ExportFolder, files: Manifest['files']): ExportFolder {
  const readBytes = async (name: string): Promise<Uint8Array | null> => {
    const digest = files[name];
    // A file that the manifest doesn't list isn't part of the export.
    if (digest === undefined) return null;
    const bytes = await folder.readBytes(name);
    if (bytes === null || digestOf(bytes) === digest) return bytes;
    throw exportChanged(own`${ofOwner(join(folder.path, name))} has changed since the export`);
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

async function openComplete(dir: string): Promise<{ folder: ExportFolder; content: Manifest }> {
  const path = resolve(dir);
  // Throws an error with the path if the folder doesn't exist.
  await lstat(path);
  const folder = await folderAt(path);
  try {
    const content = await folder.readManifest();
    if (content === null)
      throw refusedFile(
        own`${ofOwner(path)} has no export`,
        own`Run openaisle export DIR to write one.`,
        'not_an_export',
      );
    if (content.completed_at === null) {
      const title = own`The export in ${ofOwner(path)} is incomplete`;
      throw refusedFile(title, own`Run the same openaisle export again to complete it.`, 'not_whole');
    }
    return { folder, content };
  } catch (error) {
    await folder.release();
    throw error;
  }
}

/** Reads an export's kind without checking its files. Throws like `openForReading`. */
export async function readKind(dir: string): Promise<Manifest['kind']> {
  const { folder, content } = await openComplete(dir);
  await folder.release();
  return content.kind;
}

export function exportChanged(title: OwnWords): AgentError {
  return refusedFile(title, own`Nothing was listed or restored. Use another copy of the export.`, 'export_changed');
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

/** Makes a check that refuses goods named by two records, because a large file would be loaded once per record. */
export function createGoodsOnceCheck(): (name: string | null) => void {
  const names = new Set<string>();
  return (name) => {
    if (name !== null && names.has(name)) throw exportChanged(own`Two records name the same goods, ${ofOwner(name)}`);
    if (name !== null) names.add(name);
  };
}

/** Returns false for a link to a folder, which may lead outside, and null if nothing is there. */
async function isFolder(path: string): Promise<boolean | null> {
  return await lstat(path).then(
    (stats) => stats.isDirectory(),
    () => null,
  );
}

async function mustBeInside(path: string, name: string): Promise<void> {
  const [inner = '', file] = name.split('/');
  const leadsOut = file !== undefined && (await isFolder(join(path, inner))) === false;
  if (FILE_NAME.test(name) && !leadsOut) return;
  throw refusedFile(own`The export names a file outside its folder`, own`Don’t use it.`, 'export_unreadable');
}

async function readNames(path: string): Promise<string[]> {
  const names: string[] = [];
  for (const inner of SUBFOLDERS) {
    if (!(await isFolder(join(path, inner)))) continue;
    const files = await readdir(join(path, inner));
    names.push(...files.map((name) => `${inner}/${name}`));
  }
  if ((await isFolder(join(path, 'sales.json'))) !== null) names.push('sales.json');
  // Skips temporary files of killed processes.
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
    // The error is reported below, without the content.
  }
  throw refusedFile(own`${ofOwner(path)} isn’t readable as a file of an export`, undefined, 'export_unreadable');
}

function largestOf(name: string): number {
  return name.startsWith('goods/') ? LARGEST_GOODS_BYTES : LARGEST_BYTES;
}

async function readPlain(path: string, largestBytes = LARGEST_BYTES): Promise<Uint8Array | null> {
  const file = await openPlainFile(path);
  if (file === null) return null;
  if (file === 'link')
    throw refusedFile(own`${ofOwner(path)} is a symbolic link`, own`Don’t use this export.`, 'export_unreadable');
  try {
    const stats = await file.stat();
    if (!stats.isFile() || stats.size > largestBytes)
      throw refusedFile(own`${ofOwner(path)} isn’t a file of an export`, undefined, 'export_unreadable');
    return await file.readFile();
  } finally {
    await file.close();
  }
}

import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type OwnWords, ofOwner, ofSource, own } from '../contract/own-words.ts';

export interface FileFault {
  /** `unsafe`: another user can read or change it. `unusable`: not a regular file, or too large. */
  kind: 'unsafe' | 'unusable';
  /** Starts with the path. */
  why: OwnWords;
  nextStep?: OwnWords;
}

export interface OwnFileRules {
  forbiddenBits: number;
  /** Access that the forbidden bits give to others, in words that follow "can be". */
  rights: OwnWords;
  /** Returns advice with the command that clears the forbidden bits. */
  mend(path: string): OwnWords;
  largestBytes: number;
  /** Whether root may read files of other users. The owner of such a file knows its secret anyway, but could raise a limit in it. */
  rootReadsAll: boolean;
}

/** For keys and proofs: nobody else may read or write them. */
export const SECRET_RULES: OwnFileRules = {
  forbiddenBits: 0o077,
  rights: own`read or written`,
  mend: (path) =>
    own`Run chmod 600 ${shellWord(path)}. If others use this machine, treat its content as leaked: run openaisle rotate.`,
  largestBytes: 65_536,
  rootReadsAll: true,
};

/** For limits: anyone may read them, but nobody else may write them. */
export const LIMIT_RULES: OwnFileRules = {
  forbiddenBits: 0o022,
  rights: own`written`,
  mend: (path) => own`Check that its limits are still yours, then run chmod go-w ${shellWord(path)}`,
  largestBytes: 1_048_576,
  rootReadsAll: false,
};

/** Opens a file without following a link or blocking on a pipe. */
export async function openPlainFile(path: string): Promise<FileHandle | 'link' | null> {
  const how = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  return await open(path, how).catch((error: unknown) => {
    const code = codeOf(error);
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') return 'link';
    throw error;
  });
}

/** Reads a file if it follows the rules. Returns null if there is none. */
export async function readOwnFile(
  path: string,
  rules: OwnFileRules,
): Promise<{ text: string } | { fault: FileFault } | null> {
  const file = await openPlainFile(path);
  if (file === null) return null;
  // The next write would replace the link and leave its target as it is.
  if (file === 'link')
    return { fault: unsafeFault(own`${ofOwner(path)} is a symbolic link`, own`Name the file itself.`) };
  try {
    const fault = faultOf(path, await file.stat(), rules);
    return fault === null ? { text: await file.readFile('utf8') } : { fault };
  } finally {
    await file.close();
  }
}

/**
 * Opens a file of this user that has exactly `size` bytes. Returns `other` for a pipe, a link, or a file of another size or user, and null
 * if nothing is there.
 */
export async function openOwnFile(path: string, size: number): Promise<FileHandle | 'other' | null> {
  const file = await openPlainFile(path).catch((error: unknown) => {
    // ENXIO means a socket, or a device file without its device.
    if (codeOf(error) === 'ENXIO' || codeOf(error) === 'EACCES') return 'link' as const;
    throw error;
  });
  if (file === null) return null;
  if (file === 'link') return 'other';
  const stats = await file.stat();
  const self = process.getuid?.();
  const isOwn = self === undefined || self === 0 || isOurs(stats.uid);
  if (stats.isFile() && isOwn && stats.size === size) return file;
  await file.close();
  return 'other';
}

/** Reads a file that `openOwnFile` opens. */
export async function readBytesOf(path: string, size: number): Promise<Buffer | 'other' | null> {
  const file = await openOwnFile(path, size);
  if (file === null || file === 'other') return file;
  try {
    return await file.readFile();
  } finally {
    await file.close();
  }
}

function faultOf(path: string, { mode, size, uid }: Stats, rules: OwnFileRules): FileFault | null {
  const { forbiddenBits, rights, mend, largestBytes, rootReadsAll } = rules;
  if ((mode & 0o170000) !== 0o100000) return { kind: 'unusable', why: own`${ofOwner(path)} isn’t a file` };
  if (size > largestBytes) return { kind: 'unusable', why: own`${ofOwner(path)} is too large` };
  const self = process.getuid?.();
  // Windows has no such owners and modes.
  if (self === undefined) return null;
  if ((mode & forbiddenBits) !== 0)
    return unsafeFault(own`${ofOwner(path)} can be ${rights} by others (mode ${sayMode(mode)})`, mend(path));
  return isOurs(uid) || (self === 0 && rootReadsAll) ? null : foreignOwner(path, uid);
}

/**
 * Finds a folder above the path through which another user could replace or remove the file. Checks the folders as spelled and as links
 * resolve, up to the home folder or the root. Sticky folders such as `/tmp` are safe, because users may remove only their own files there.
 * Returns null if there is none or the system has no modes.
 */
export async function findUnsafeFolder(path: string, home: string): Promise<FileFault | null> {
  if (process.getuid === undefined) return null;
  const spelled = dirname(resolve(path));
  const ends = new Set([resolve(home), await realFolder(home)]);
  const folders = new Set([...foldersUpTo(spelled, ends), ...foldersUpTo(await realFolder(spelled), ends)]);
  for (const folder of folders) {
    const stats = await statFolder(folder);
    const fault = stats === null ? null : faultOfFolder(folder, stats);
    if (fault !== null) return fault;
  }
  return null;
}

const STICKY = 0o1000;

function faultOfFolder(folder: string, stats: Stats): FileFault | null {
  if (!isOurs(stats.uid)) return foreignOwner(folder, stats.uid);
  // A link's mode means nothing; its target is checked separately.
  if (stats.isSymbolicLink() || (stats.mode & 0o022) === 0 || (stats.mode & STICKY) !== 0) return null;
  return unsafeFault(
    own`${ofOwner(folder)} can be written by others (mode ${sayMode(stats.mode)})`,
    own`Run chmod go-w ${shellWord(folder)}`,
  );
}

function foldersUpTo(folder: string, ends: ReadonlySet<string>): string[] {
  const folders = [folder];
  for (let at = folder; !ends.has(at) && dirname(at) !== at; folders.push(at)) at = dirname(at);
  return folders;
}

/** Resolves links. Returns the nearest existing parent of a missing folder. */
async function realFolder(folder: string): Promise<string> {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const real = await realpath(at).catch((error: unknown) => nullIfMissing(error, at));
    if (real !== null) return real;
  }
}

function statFolder(folder: string): Promise<Stats | null> {
  return lstat(folder).catch((error: unknown) => nullIfMissing(error, folder));
}

/** Returns null for "no such file"; rethrows anything else. The root always exists. */
function nullIfMissing(error: unknown, path: string): null {
  const code = codeOf(error);
  if ((code === 'ENOENT' || code === 'ENOTDIR') && dirname(path) !== path) return null;
  throw error;
}

function isOurs(uid: number): boolean {
  return uid === 0 || uid === process.getuid?.();
}

function foreignOwner(path: string, uid: number): FileFault {
  const self = process.getuid?.() ?? 0;
  return unsafeFault(
    own`${ofOwner(path)} belongs to another user (uid ${uid})`,
    own`If its content is yours, run as root: chown ${self} ${shellWord(path)}`,
  );
}

function unsafeFault(why: OwnWords, nextStep: OwnWords): FileFault {
  return { kind: 'unsafe', why, nextStep };
}

function sayMode(mode: number): OwnWords {
  return ofSource((mode & 0o7777).toString(8).padStart(4, '0'));
}

export function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error ? String(error.code) : null;
}

function shellWord(path: string): OwnWords {
  return ofOwner(/^[\w./@%+:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
}

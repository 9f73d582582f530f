import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, realpath } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { type OwnWords, ofOwner, ofSource, own } from '../contract/own-words.ts';

/** Why a file is not read, and what mends it. */
export interface FileFault {
  /** `unsafe`: another user can change or read it. `unusable`: it is nothing that could hold what is meant. */
  kind: 'unsafe' | 'unusable';
  /** Begins with the path. */
  why: OwnWords;
  nextStep?: OwnWords;
}

export interface OwnFileRules {
  /** Bits of the mode that must not be set. */
  forbidden: number;
  /** The rights that those bits give to others, after "can be". */
  rights: OwnWords;
  /** The command that takes them away. */
  mend(path: string): OwnWords;
  largestBytes: number;
  /** Root reads files of every user. Who owns a secret has it anyway; who owns a limit can raise it. */
  rootReadsAll: boolean;
}

/** Keys and proofs: nobody else reads or writes them. */
export const SECRET_RULES: OwnFileRules = {
  forbidden: 0o077,
  rights: own`read or written`,
  mend: (path) =>
    own`chmod 600 ${shellWord(path)} — and if others use this machine, treat what is in it as leaked: openaisle rotate.`,
  largestBytes: 65_536,
  rootReadsAll: true,
};

/** Limits: everybody may read them, and nobody else may write them. */
export const LIMIT_RULES: OwnFileRules = {
  forbidden: 0o022,
  rights: own`written`,
  mend: (path) => own`Look whether its limits are still yours, then: chmod go-w ${shellWord(path)}`,
  largestBytes: 1_048_576,
  rootReadsAll: false,
};

/** A file that can be read without waiting for a pipe, and without following a link. */
async function openPlain(path: string): Promise<FileHandle | 'link' | null> {
  const how = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
  return await open(path, how).catch((error: unknown) => {
    const code = codeOf(error);
    if (code === 'ENOENT') return null;
    if (code === 'ELOOP') return 'link';
    throw error;
  });
}

/** The text of a file under those rules; null where there is none. Never waits for a pipe, and follows no link. */
export async function readOwnFile(
  path: string,
  rules: OwnFileRules,
): Promise<{ text: string } | { fault: FileFault } | null> {
  const file = await openPlain(path);
  if (file === null) return null;
  // A link would be replaced by the next write, and what it leads to would stay behind as it is.
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
 * The bytes of a file of ours that has so many. `other`: something else is there, as a pipe, a link, a file of another size or of another
 * user. Null: there is nothing.
 */
export async function readBytesOf(path: string, size: number): Promise<Buffer | 'other' | null> {
  const file = await openPlain(path).catch((error: unknown) => {
    // A socket or a device that has no reader, or a file that is closed to us.
    if (codeOf(error) === 'ENXIO' || codeOf(error) === 'EACCES') return 'link' as const;
    throw error;
  });
  if (file === null) return null;
  if (file === 'link') return 'other';
  try {
    const found = await file.stat();
    const self = process.getuid?.();
    const isOwn = self === undefined || self === 0 || isOurs(found.uid);
    return found.isFile() && isOwn && found.size === size ? await file.readFile() : 'other';
  } finally {
    await file.close();
  }
}

function faultOf(path: string, { mode, size, uid }: Stats, rules: OwnFileRules): FileFault | null {
  const { forbidden, rights, mend, largestBytes, rootReadsAll } = rules;
  if ((mode & 0o170000) !== 0o100000) return { kind: 'unusable', why: own`${ofOwner(path)} is not a file` };
  if (size > largestBytes) return { kind: 'unusable', why: own`${ofOwner(path)} is too large for what it should be` };
  const self = process.getuid?.();
  // Windows has neither owners nor modes of this kind.
  if (self === undefined) return null;
  if ((mode & forbidden) !== 0)
    return unsafeFault(own`${ofOwner(path)} can be ${rights} by others (mode ${sayMode(mode)})`, mend(path));
  return isOurs(uid) || (self === 0 && rootReadsAll) ? null : foreignOwner(path, uid);
}

/**
 * The first folder by which another user could put another file under this path, or take it away: of those above it, as the path is
 * spelled and as links lead, up to the home folder or the root. A folder like `/tmp`, in which each may remove only what is its own, is
 * none. Null: there is none, or the system has no modes.
 */
export async function findUnsafeFolder(path: string, home: string): Promise<FileFault | null> {
  if (process.getuid === undefined) return null;
  const spelled = dirname(resolve(path));
  const ends = new Set([resolve(home), await realFolder(home)]);
  const folders = new Set([...foldersUpTo(spelled, ends), ...foldersUpTo(await realFolder(spelled), ends)]);
  for (const folder of folders) {
    const found = await lookAt(folder);
    const fault = found === null ? null : faultOfFolder(folder, found);
    if (fault !== null) return fault;
  }
  return null;
}

const STICKY = 0o1000;

function faultOfFolder(folder: string, found: Stats): FileFault | null {
  if (!isOurs(found.uid)) return foreignOwner(folder, found.uid);
  // The mode of a link says nothing; where it leads is looked at by itself.
  if (found.isSymbolicLink() || (found.mode & 0o022) === 0 || (found.mode & STICKY) !== 0) return null;
  return unsafeFault(
    own`${ofOwner(folder)} can be written by others (mode ${sayMode(found.mode)})`,
    own`chmod go-w ${shellWord(folder)}`,
  );
}

function foldersUpTo(folder: string, ends: ReadonlySet<string>): string[] {
  const folders = [folder];
  for (let at = folder; !ends.has(at) && dirname(at) !== at; folders.push(at)) at = dirname(at);
  return folders;
}

/** Follows links; of a folder that is not there yet, those of the nearest one above it. */
async function realFolder(folder: string): Promise<string> {
  for (let at = resolve(folder); ; at = dirname(at)) {
    const real = await realpath(at).catch((error: unknown) => notThere(error, at));
    if (real !== null) return real;
  }
}

function lookAt(folder: string): Promise<Stats | null> {
  return lstat(folder).catch((error: unknown) => notThere(error, folder));
}

/** Null where nothing is there. The root is always there. */
function notThere(error: unknown, path: string): null {
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
    own`If what is in it is yours, as root: chown ${self} ${shellWord(path)}`,
  );
}

function unsafeFault(why: OwnWords, nextStep: OwnWords): FileFault {
  return { kind: 'unsafe', why, nextStep };
}

function sayMode(mode: number): OwnWords {
  return ofSource((mode & 0o7777).toString(8).padStart(4, '0'));
}

function codeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error ? String(error.code) : null;
}

/** Quotes a path for a shell. */
function shellWord(path: string): OwnWords {
  return ofOwner(/^[\w./@%+:,-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);
}

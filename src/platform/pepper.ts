import { createHmac, createSecretKey } from 'node:crypto';
import { type FileHandle, link, mkdir, open, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode, readPrivate } from './private-file.ts';
import { type Random, systemRandom } from './random.ts';

/** Hashes secrets. Only the HMAC-SHA-256 of a secret under a pepper is stored. */
export interface Pepper {
  /** Version of the newest pepper, which hashes new secrets. */
  version: number;
  hash(secret: string): Buffer;
  /** Returns the hashes of a presented secret under every known pepper, newest first, to look it up. */
  hashes(secret: string): readonly { version: number; hash: Buffer }[];
}

export interface LoadPepperOptions {
  file: string;
  /** Creates the file with a new pepper if it is missing. Must be false for a file that the operator configured. */
  createIfMissing: boolean;
  random?: Random;
}

/** Loads the file that the operator configured, which must exist. Otherwise loads the one in the data folder; the first start makes it. */
export function loadOwnPepper(where: { pepperFile: string | null; dataDir: string }): Promise<Pepper> {
  return loadPepper({ file: pepperFileOf(where), createIfMissing: where.pepperFile === null });
}

export function pepperFileOf({ pepperFile, dataDir }: { pepperFile: string | null; dataDir: string }): string {
  return pepperFile ?? join(dataDir, 'pepper');
}

const LINE = /^([1-9]\d{0,8}):([0-9a-f]{64})$/;

/**
 * Reads the peppers for keys and codes: lines of `version:64 hex digits`. The highest version is current. To rotate, add a line. A line may
 * be removed once no stored hash uses its version.
 */
export async function loadPepper({ file, createIfMissing, random = systemRandom }: LoadPepperOptions): Promise<Pepper> {
  let text = await readPrivate(file, 'pepper');
  if (text === null && createIfMissing) {
    await initPepper(file, random);
    text = await readPrivate(file, 'pepper');
  }
  if (text === null) throw missingPepper(file);
  return createPepperFrom(parsePeppers(text, file));
}

export function createPepperFrom(peppers: ReadonlyMap<number, Buffer>): Pepper {
  const hashers = [...peppers]
    .sort(([a], [b]) => b - a)
    .map(([version, bytes]) => {
      // Create it once, because a new key object for each secret would cost four times the hash.
      const key = createSecretKey(bytes);
      return { version, hash: (secret: string) => createHmac('sha256', key).update(secret, 'utf8').digest() };
    });
  const [current] = hashers;
  if (current === undefined) throw new Error('at least one pepper is needed');
  return {
    version: current.version,
    hash: current.hash,
    hashes: (secret) => hashers.map(({ version, hash }) => ({ version, hash: hash(secret) })),
  };
}

/** Error messages never quote a line of the file. */
export function parsePeppers(text: string, file: string): Map<number, Buffer> {
  const peppers = new Map<number, Buffer>();
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const match = LINE.exec(line.trim());
    const [version, hex] = [Number(match?.[1]), match?.[2]];
    if (hex === undefined) throw new Error(`${file} line ${index + 1}: must be version:64 lower-case hex digits`);
    if (peppers.has(version)) throw new Error(`${file} line ${index + 1}: version ${version} appears twice`);
    peppers.set(version, Buffer.from(hex, 'hex'));
  }
  if (peppers.size === 0) throw new Error(`the pepper file ${file} contains no pepper`);
  return peppers;
}

/** An existing market needs a copy of its own pepper, because a new pepper does not match its stored secrets. */
export function missingPepper(file: string): Error {
  return new Error(
    `the pepper file ${file} does not exist. Restore its copy, or create one for a new market: npm run pepper -- init`,
  );
}

/**
 * Creates a file with one new pepper, and its folder if needed. Returns false if the file exists. Writes to a temporary name and then links
 * it: of two processes that start at the same time one wins, none reads half a file, and no crash destroys a pepper in use.
 */
export async function initPepper(file: string, random: Random): Promise<boolean> {
  const text = `1:${random.bytes(32).toString('hex')}\n`;
  const draft = `${file}.${random.uuid()}`;
  await mkdir(dirname(file), { recursive: true });
  try {
    await writeDurably(await open(draft, 'wx', 0o600), text);
    const made = await link(draft, file).then(
      () => true,
      (error: unknown) => {
        if (hasCode(error, 'EEXIST')) return false;
        throw error;
      },
    );
    // Also sync a file that another process created, because this process relies on it from now on.
    await syncFolder(dirname(file));
    return made;
  } finally {
    await unlink(draft).catch(() => {});
  }
}

export async function writeDurably(handle: FileHandle, text: string): Promise<void> {
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

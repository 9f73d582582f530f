import { open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { RECOVERY_CODE_COUNT } from '../../contract/vocabulary.ts';
import type { KeyHash } from '../../platform/key-hash.ts';
import { missingPepper, parsePeppers, syncFolder, writeDurably } from '../../platform/pepper.ts';
import { readPrivate } from '../../platform/private-file.ts';
import type { Random } from '../../platform/random.ts';
import { canonicalCode, isRecoveryCode, makeMerchantKey, makeRecoveryCode } from '../../platform/secrets.ts';
import type { Market, Pepper } from '../context.ts';
import type { SecretHashes } from './pending-changes/store.ts';
import { countPepperUses, type PepperUse } from './store.ts';

interface SecretSource {
  random: Random;
  pepper: Pepper;
  keyPrefix: string;
}

export interface MadeSecrets {
  /** Shown once and never stored. */
  key: string;
  codes: string[];
  hashes: SecretHashes;
}

export function makeKey({ random, pepper, keyPrefix }: SecretSource): { key: string; hashes: KeyHash } {
  const key = makeMerchantKey(random, keyPrefix);
  return { key, hashes: { pepperVersion: pepper.version, keyHash: pepper.hash(key) } };
}

export function makeCodes({ random, pepper, keyPrefix }: SecretSource): { codes: string[]; codeHashes: Buffer[] } {
  const codes = Array.from({ length: RECOVERY_CODE_COUNT }, () => makeRecoveryCode(random, keyPrefix));
  return { codes, codeHashes: codes.map((code) => pepper.hash(code)) };
}

export function makeSecrets(from: SecretSource): MadeSecrets {
  const { key, hashes } = makeKey(from);
  const { codes, codeHashes } = makeCodes(from);
  return { key, codes, hashes: { ...hashes, codeHashes } };
}

/** Long enough for a code with blanks around it. Longer text is not a code and is not hashed, because hashing time grows with length. */
const LONGEST_TYPED = 1_000;

/** Returns the hashes for looking up a typed code. Other text is hashed and looked up too, so that refusing it takes as long. */
export function hashesOfCode(pepper: Pepper, prefix: string, code: string, isCode = isRecoveryCode): Buffer[] {
  const text = code.length > LONGEST_TYPED ? '' : code.trim();
  const canonical = canonicalCode(text, prefix);
  // Check the prefix as typed, because the canonical spelling alone would hide a wrong one.
  return pepper.hashes(isCode(text, prefix) ? canonical : `not a code: ${canonical}`).map(({ hash }) => hash);
}

/**
 * Appends a pepper and returns its version once the file is on disk. Writes a draft beside the file and then renames it over the file, so
 * that the file is complete even after a crash and for a market that starts meanwhile. The draft is also the lock.
 */
export async function addPepper(named: string, random: Random): Promise<number> {
  const file = await realpath(named).catch(() => Promise.reject(missingPepper(named)));
  const draft = `${file}.adding`;
  const handle = await open(draft, 'wx', 0o600).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new Error(
        `${draft} exists: another command is running, or one was interrupted. If none is running, remove the file`,
      );
    throw error;
  });
  try {
    const text = await readPrivate(file, 'pepper');
    if (text === null) throw missingPepper(file);
    const version = Math.max(...parsePeppers(text, file).keys()) + 1;
    const { uid, gid, mode } = await stat(file);
    await handle.chown(uid, gid);
    await handle.chmod(mode & 0o777);
    await writeDurably(handle, `${text.replace(/\n*$/, '\n')}${version}:${random.bytes(32).toString('hex')}\n`);
    // Check the draft, because an unreadable file must not replace a readable one.
    parsePeppers((await readPrivate(draft, 'pepper')) ?? '', draft);
    await rename(draft, file);
    await syncFolder(dirname(file));
    return version;
  } catch (error) {
    await handle.close().catch(() => {});
    await unlink(draft).catch(() => {});
    throw error;
  }
}

export interface PepperStatus extends PepperUse {
  /** `missing` means that secrets depend on this version but the file lacks it, so they no longer work. */
  standing: 'current' | 'needed' | 'may_go' | 'missing';
}

/** Returns every version in the file or in use by the database, newest first, with counts only. */
export async function readPepperStatus(market: Pick<Market, 'database' | 'clock' | 'pepper'>): Promise<PepperStatus[]> {
  const { database, clock, pepper } = market;
  const uses = new Map((await countPepperUses(database, new Date(clock.now()))).map((use) => [use.version, use]));
  const inFile = new Set(pepper.hashes('').map(({ version }) => version));
  const versions = [...new Set([...inFile, ...uses.keys()])].sort((a, b) => b - a);
  return versions.map((version) => {
    const use = uses.get(version) ?? { version, keys: 0, codes: 0, open: 0 };
    if (!inFile.has(version)) return { ...use, standing: 'missing' };
    if (version === pepper.version) return { ...use, standing: 'current' };
    return { ...use, standing: use.keys + use.codes + use.open > 0 ? 'needed' : 'may_go' };
  });
}

import { open, realpath, rename, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { missingPepper, parsePeppers, readPrivate, syncFolder, writeDurably } from '../../platform/pepper.ts';
import type { Random } from '../../platform/random.ts';
import type { Market } from '../context.ts';
import { countPepperUses, type PepperUse } from './store.ts';

/**
 * Appends one more pepper and returns its version; the file is on the disk by then. The whole file is written next to the old one and then
 * replaces it, so that neither a crash nor a market that starts meanwhile meets half a file. The draft is also the lock.
 */
export async function addPepper(named: string, random: Random): Promise<number> {
  const file = await realpath(named).catch(() => Promise.reject(missingPepper(named)));
  const draft = `${file}.adding`;
  const handle = await open(draft, 'wx', 0o600).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST')
      throw new Error(`${draft} exists: another command is at work, or one was cut off; then remove it`);
    throw error;
  });
  try {
    const text = await readPrivate(file);
    if (text === null) throw missingPepper(file);
    const version = Math.max(...parsePeppers(text, file).keys()) + 1;
    const { uid, gid, mode } = await stat(file);
    await handle.chown(uid, gid);
    await handle.chmod(mode & 0o777);
    await writeDurably(handle, `${text.replace(/\n*$/, '\n')}${version}:${random.bytes(32).toString('hex')}\n`);
    // What a market could not read must not take the place of what it can.
    parsePeppers((await readPrivate(draft)) ?? '', draft);
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
  /** `missing`: secrets hang on it, and the file does not have it; they open nothing. */
  standing: 'current' | 'needed' | 'may_go' | 'missing';
}

/** Every version that the file has or the database needs, newest first. Counts only. */
export async function readPepperStatus({
  database,
  clock,
  pepper,
}: Pick<Market, 'database' | 'clock' | 'pepper'>): Promise<PepperStatus[]> {
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

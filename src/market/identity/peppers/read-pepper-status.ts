import type { Market } from '../../context.ts';
import { countPepperUses, type PepperUse } from './store.ts';

export interface PepperStanding extends PepperUse {
  /** `missing`: secrets hang on it, and the file does not have it; they open nothing. */
  standing: 'current' | 'needed' | 'may_go' | 'missing';
}

/** Every version that the file has or the database needs, newest first. Counts only. */
export async function readPepperStatus({
  database,
  clock,
  pepper,
}: Pick<Market, 'database' | 'clock' | 'pepper'>): Promise<PepperStanding[]> {
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

import { isMerchantKey } from '../../platform/secret-format.ts';
import type { City, Resident } from '../context.ts';
import { findKeyOwner } from './store.ts';

/** Whose key this is; null if no resident has it. A key of the market never fits: each site knows its own by its own peppers. */
export async function authenticate(
  { config, database, pepper }: Pick<City, 'config' | 'database' | 'pepper'>,
  bearer: string,
): Promise<Resident | null> {
  // The checksum tells most wrong keys apart without asking the database.
  if (!isMerchantKey(bearer, config.keyPrefix)) return null;
  const hashes = pepper.hashes(bearer).map(({ hash }) => hash);
  return findKeyOwner(database, hashes);
}

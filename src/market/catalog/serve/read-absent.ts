import { hash } from 'node:crypto';
import type { Database } from '../../../platform/database/database.ts';
import type { PageParts } from '../fragments/page-bytes.ts';
import { fragmentOf } from '../model/apply-listing.ts';
import type { Model } from '../model/model.ts';
import { readListings } from '../store.ts';

const STAMP_BYTES = 8;

type Elsewhere = NonNullable<PageParts['elsewhere']>;

/** Listings that left memory, as they are in the database; null when one is not what the model knows. */
export async function readAbsent(model: Model, database: Database, ids: readonly number[]): Promise<Elsewhere | null> {
  const absent = ids.filter((id) => !model.fragments.held(id));
  const read = new Map<number, { bytes: Uint8Array; head: number }>();
  if (absent.length === 0) return read;
  for (const row of await readListings(database, absent.map(BigInt))) {
    const fragment = fragmentOf(row);
    if (stampOf(fragment.bytes) !== stampIn(model, Number(row.id))) return null;
    read.set(Number(row.id), fragment);
  }
  return read;
}

function stampOf(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'hex').slice(0, 2 * STAMP_BYTES);
}

function stampIn(model: Model, id: number): string {
  const bytes = Buffer.alloc(STAMP_BYTES);
  model.fragments.stampInto(id, bytes, 0);
  return bytes.toString('hex');
}

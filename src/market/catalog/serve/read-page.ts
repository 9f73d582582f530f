import { hash } from 'node:crypto';
import type { Database } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Catalog } from '../catalog.ts';
import { joinPage, type PageBytes, type PageParts } from '../fragments/page-bytes.ts';
import { fragmentOf } from '../model/apply-listing.ts';
import { areFilled } from '../model/is-filled.ts';
import type { Model } from '../model/model.ts';
import { readListings } from '../store.ts';
import { tagOfParts } from './tag-of-parts.ts';

/** A row that changes between model and database is met again after the next step; that often in a row it is a flood. */
const ROUNDS = 10;
const STAMP_BYTES = 8;

export type Elsewhere = NonNullable<PageParts['elsewhere']>;

export interface ReadPage {
  body: Uint8Array;
  tag: string;
  release(): void;
}

/**
 * A page of which some listings left memory. They are read from the database and must be what the model says they are; where they
 * have moved on, the model does too and the page is made anew. So no page is ever of two moments.
 */
export async function readPage(
  catalog: Pick<Catalog, 'model' | 'fresh' | 'bring'>,
  database: Database,
  build: (model: Model) => PageParts,
): Promise<ReadPage> {
  for (let round = 0; round < ROUNDS; round += 1) {
    const model = catalog.model();
    const parts = build(model);
    if (!areFilled(model, parts.ids)) {
      await catalog.bring(parts.ids);
      continue;
    }
    const tag = tagOfParts(model.fragments, parts);
    // Nothing is waited for in between: it is all of this moment.
    const page = joinPage(model.pages, parts) ?? (await joinWithAbsent(model, database, parts, tag));
    if (page !== null) return { ...page, tag };
    await catalog.fresh();
  }
  throw new Refusal('unavailable', { retryAfterSeconds: 1 });
}

/** Null where a listing on the page has changed while others were read. */
async function joinWithAbsent(
  model: Model,
  database: Database,
  parts: PageParts,
  tag: string,
): Promise<PageBytes | null> {
  const elsewhere = await readAbsent(model, database, parts.ids);
  if (elsewhere === null || tagOfParts(model.fragments, parts) !== tag) return null;
  return joinPage(model.pages, { ...parts, elsewhere });
}

/** Those that left memory, as they are in the database; null when one is not what the model knows. */
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

import type { Database } from '../../../platform/database/database.ts';
import { LIVE, type Model } from '../model/model.ts';
import { readListings } from '../store.ts';
import type { ListingText } from '../text/text-index.ts';

/** Listings at once; about a millisecond and a half of work. */
const SLICE = 100;

export interface Indexing {
  database: Database;
  giveWay(): Promise<void>;
  /** Nobody needs the index of this model any more. */
  stopped(): boolean;
  /** What was asked of the database was not answered; resolves when it is time to ask again. */
  failed(error: unknown): Promise<void>;
}

/** Puts every live listing into the text index, in slices that give way to requests. Changes meanwhile find their own way in. */
export async function indexText(model: Model, given: Indexing): Promise<void> {
  while (model.textUpTo < model.newestId) {
    if (given.stopped()) return;
    const upTo = Math.min(model.textUpTo + SLICE, model.newestId);
    const absent: bigint[] = [];
    for (let id = model.textUpTo + 1; id <= upTo; id += 1) {
      if (model.columns.state[id] !== LIVE) continue;
      const bytes = model.fragments.view(id);
      if (bytes === null) absent.push(BigInt(id));
      else model.text.put(id, JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')));
    }
    // From here on a change of these listings goes into the index by itself; what is read below may be older than that.
    model.textUpTo = upTo;
    if (absent.length > 0) await indexUntilRead(model, given, absent);
    await given.giveWay();
  }
  if (given.stopped()) return;
  model.textUpTo = Number.POSITIVE_INFINITY;
  model.version += 1;
  model.changed.words = model.version;
}

/** A database that is away must not leave the market without search for good. */
async function indexUntilRead(model: Model, given: Indexing, ids: readonly bigint[]): Promise<void> {
  while (!given.stopped()) {
    try {
      return await indexAbsent(model, given.database, ids);
    } catch (error) {
      await given.failed(error);
    }
  }
}

async function indexAbsent(model: Model, database: Database, ids: readonly bigint[]): Promise<void> {
  const acts = new Map(ids.map((id) => [id, model.columns.editedAct[Number(id)]]));
  for (const row of await readListings(database, ids)) {
    const id = Number(row.id);
    const current = model.columns.state[id] === LIVE && model.columns.editedAct[id] === acts.get(row.id);
    // What the database says now and the model does not yet know of comes with the next step.
    if (current && Number(row.edited_act) === acts.get(row.id)) model.text.put(id, textOf(row));
  }
}

function textOf(row: ListingText): ListingText {
  const { title, tags, merchant, description, preview } = row;
  return { title, tags, merchant, description, preview };
}

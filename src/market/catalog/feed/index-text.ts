import type { Database } from '../../../platform/database/database.ts';
import { LIVE, type Model } from '../model/model.ts';
import { readListings } from '../store.ts';
import type { ListingText } from '../text/text-index.ts';
import { type ReadTexts, readAhead } from './read-ahead.ts';

/** Listings at once; a few milliseconds of work. */
const SLICE = 50;

/** For fewer a thread would take longer to start than to read them. */
const THREAD_FROM = 20_000;

export interface Indexing {
  database: Database;
  giveWay(): Promise<void>;
  /** Nobody needs the index of this model any more. */
  stopped(): boolean;
  /** What was asked was not answered; resolves when it is time to go on. */
  failed(error: unknown): Promise<void>;
  /** With that many listings or more a thread finds their words. */
  threadFrom?: number;
}

/** Puts every live listing into the text index, in slices that give way to requests. Changes meanwhile find their own way in. */
export async function indexText(model: Model, given: Indexing): Promise<void> {
  if (model.newestId - model.textUpTo >= (given.threadFrom ?? THREAD_FROM)) await indexWithThread(model, given);
  await indexUpTo(model, given, null);
  if (given.stopped()) return;
  model.textUpTo = Number.POSITIVE_INFINITY;
  model.version += 1;
}

/** What it leaves undone when the thread fails can be done without it. */
async function indexWithThread(model: Model, given: Indexing): Promise<void> {
  const ahead = readAhead(model);
  try {
    for (let read = await ahead.next(); read !== null; read = await ahead.next()) {
      await indexUpTo(model, given, read);
      if (given.stopped()) return;
    }
  } catch (error) {
    await given.failed(error);
  } finally {
    await ahead.stop();
  }
}

/** Up to the last of those that were read, or to the newest of all. */
async function indexUpTo(model: Model, given: Indexing, read: ReadTexts | null): Promise<void> {
  while (model.textUpTo < (read?.upTo ?? model.newestId)) {
    const filled = await model.filling.past(model.textUpTo);
    if (given.stopped()) return;
    const upTo = Math.min(model.textUpTo + SLICE, filled, read?.upTo ?? model.newestId);
    const absent: bigint[] = [];
    for (let id = model.textUpTo + 1; id <= upTo; id += 1) {
      if (model.columns.state[id] === LIVE && !putListing(model, id, read)) absent.push(BigInt(id));
    }
    // From here on a change of these listings goes into the index by itself; what is read below may be older than that.
    model.textUpTo = upTo;
    if (absent.length > 0) await indexUntilRead(model, given, absent);
    await given.giveWay();
  }
}

/** False: its text is not in memory. */
function putListing(model: Model, id: number, read: ReadTexts | null): boolean {
  const { fragments, text } = model;
  const at = read === null ? 0 : id - read.above - 1;
  // What has changed since it was read is read again.
  if (read !== null && read.versions[at] === fragments.version(id)) {
    const { tokens, ends, words } = read;
    text.putRead(id, { tokens, from: at === 0 ? 0 : (ends[at - 1] as number), to: ends[at] as number, words });
    return true;
  }
  const bytes = fragments.view(id);
  if (bytes === null) return false;
  text.put(id, JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')));
  return true;
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

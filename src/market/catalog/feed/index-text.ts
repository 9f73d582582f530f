import type { Database } from '../../../platform/database/database.ts';
import { startThread } from '../../../platform/worker-thread.ts';
import { LIVE, type Model } from '../model/model.ts';
import { readListings } from '../store.ts';
import {
  createReaderWords,
  learnWords,
  type ReaderWords,
  type TextsRead,
  type TextsToRead,
} from '../text/text-reader.ts';

/** Listings per slice: a few milliseconds of work. */
const SLICE = 50;

/** Listings per slice that are compared with a saved index. */
const SCANNED = 50_000;

/** For fewer listings, starting a thread takes longer than reading them. */
const THREAD_FROM = 20_000;

export interface Indexing {
  database: Database;
  giveWay(): Promise<void>;
  stopped(): boolean;
  /** Called when a query failed; resolves when it is time to retry. */
  failed(error: unknown): Promise<void>;
  threadFrom?: number;
  saved?: SavedTexts | null;
}

/** Texts that a saved index brought into the model's index. */
export interface SavedTexts {
  /** Returns whether the index has the text that the listing has now. Ask before changes of the listing go to the index. */
  isCurrent(id: number): boolean;
  /** True if so few listings are missing that they are read one by one, without waiting for all JSON. */
  isNearlyWhole: boolean;
}

/** Adds every live listing to the text index, in slices between which requests are answered. Later changes update the index themselves. */
export async function indexText(model: Model, options: Indexing): Promise<void> {
  const isLong = model.newestId - model.textUpTo >= (options.threadFrom ?? THREAD_FROM);
  if (isLong && !options.saved?.isNearlyWhole) await indexWithThread(model, options);
  await indexUpTo(model, options, null);
  if (options.stopped()) return;
  model.textUpTo = Number.POSITIVE_INFINITY;
  model.version += 1;
}

/** Indexes with the help of a thread. If the thread fails, the caller indexes the rest without it. */
async function indexWithThread(model: Model, options: Indexing): Promise<void> {
  const ahead = readAhead(model, options.saved ?? null);
  try {
    for (let read = await ahead.next(); read !== null; read = await ahead.next()) {
      await indexUpTo(model, options, read);
      if (options.stopped()) return;
    }
  } catch (error) {
    await options.failed(error);
  } finally {
    await ahead.stop();
  }
}

/** Indexes up to the last listing the thread has read, or without a thread up to the newest. */
async function indexUpTo(model: Model, options: Indexing, read: ReadTexts | null): Promise<void> {
  const { saved = null } = options;
  while (model.textUpTo < (read?.upTo ?? model.newestId)) {
    const filled = saved?.isNearlyWhole ? model.newestId : await model.filling.waitBeyond(model.textUpTo);
    if (options.stopped()) return;
    const last = Math.min(model.textUpTo + SCANNED, filled, read?.upTo ?? model.newestId);
    const { upTo, absent } = indexSlice(model, saved, last, read);
    // From now on, changes of these listings update the index directly; rows read below may be older.
    model.textUpTo = upTo;
    if (absent.length > 0) await indexUntilRead(model, options, absent);
    await options.giveWay();
  }
}

/** Indexes the next listings, up to `last` at most. Returns those whose text is not in memory. */
function indexSlice(
  model: Model,
  saved: SavedTexts | null,
  last: number,
  read: ReadTexts | null,
): { upTo: number; absent: bigint[] } {
  const absent: bigint[] = [];
  let upTo = model.textUpTo;
  for (let changed = 0; upTo < last && changed < SLICE; ) {
    upTo += 1;
    const isLive = model.columns.state[upTo] === LIVE;
    if (isLive ? saved?.isCurrent(upTo) : !model.text.has(upTo)) continue;
    changed += 1;
    if (!isLive) model.text.remove(upTo);
    else if (!putListing(model, upTo, read)) absent.push(BigInt(upTo));
  }
  return { upTo, absent };
}

/** Returns false when the listing's text is not in memory. */
function putListing(model: Model, id: number, read: ReadTexts | null): boolean {
  const { fragments, text } = model;
  const at = read === null ? 0 : id - read.above - 1;
  // A listing that changed since the thread read it is read again.
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

/** Retries until it succeeds: a database outage must not leave the market without search for good. */
async function indexUntilRead(model: Model, options: Indexing, ids: readonly bigint[]): Promise<void> {
  while (!options.stopped()) {
    try {
      return await indexAbsent(model, options.database, ids);
    } catch (error) {
      await options.failed(error);
    }
  }
}

async function indexAbsent(model: Model, database: Database, ids: readonly bigint[]): Promise<void> {
  const acts = new Map(ids.map((id) => [id, model.columns.editedRevision[Number(id)]]));
  for (const row of await readListings(database, ids)) {
    const id = Number(row.id);
    const current = model.columns.state[id] === LIVE && model.columns.editedRevision[id] === acts.get(row.id);
    // Skip rows that are newer than the model, because the next refresh applies them.
    if (current && Number(row.edited_act) === acts.get(row.id)) model.text.put(id, row);
  }
}

/** Listings per message to the thread: about 15 milliseconds of work. */
const TEXTS_PER_BATCH = 500;
/** Enough that the worker thread never waits for the main thread. */
const BATCHES_AHEAD = 3;

/** Tokens that the thread found in the listings with ids above `above` up to `upTo`. */
interface ReadTexts {
  above: number;
  upTo: number;
  tokens: Uint32Array;
  ends: Uint32Array;
  /** Version of each fragment that was read, or 0 if there was none to read. */
  versions: Uint32Array;
  words: ReaderWords;
}

interface ReadAhead {
  /** Resolves with the next listings in order once their JSON has loaded, or with null at the end. */
  next(): Promise<ReadTexts | null>;
  stop(): Promise<void>;
}

/** Starts a thread that tokenizes all live listings not indexed yet, a few batches ahead of the index. */
function readAhead(model: Model, saved: SavedTexts | null): ReadAhead {
  const thread = startThread<TextsToRead, TextsRead>(new URL('../text/reader-thread.ts', import.meta.url));
  const words = createReaderWords();
  const pending: Promise<ReadTexts>[] = [];
  let above = model.textUpTo;

  async function requestBatch(): Promise<ReadTexts> {
    const batch = textsAbove(model, above, saved);
    above = batch.upTo;
    const { bytes, ends } = batch;
    const read = await thread.ask({ bytes, ends }, [bytes.buffer, ends.buffer]);
    learnWords(words, read.newWords);
    return { ...batch, tokens: read.tokens, ends: read.ends, words };
  }

  return {
    next: async () => {
      if (pending.length === 0 && above < model.newestId) await model.filling.waitBeyond(above);
      while (pending.length < BATCHES_AHEAD && above < Math.min(model.newestId, model.filling.upTo())) {
        const request = requestBatch();
        // Avoid an unhandled rejection if nobody waits for this batch any more.
        request.catch(() => {});
        pending.push(request);
      }
      return (await pending.shift()) ?? null;
    },
    stop: () => thread.stop(),
  };
}

function textsAbove(model: Model, above: number, saved: SavedTexts | null) {
  const { columns, fragments } = model;
  const upTo = Math.min(above + TEXTS_PER_BATCH, model.newestId, model.filling.upTo());
  const ends = new Uint32Array(upTo - above);
  const versions = new Uint32Array(upTo - above);
  let end = 0;
  for (let at = 0; at < ends.length; at += 1) {
    const id = above + 1 + at;
    if (columns.state[id] === LIVE && fragments.has(id) && !saved?.isCurrent(id)) {
      end += fragments.size(id);
      versions[at] = fragments.version(id);
    }
    ends[at] = end;
  }
  const bytes = new Uint8Array(end);
  let from = 0;
  for (let at = 0; at < ends.length; at += 1) {
    if (versions[at] !== 0) fragments.copy(above + 1 + at, bytes, from);
    from = ends[at] as number;
  }
  return { above, upTo, bytes, ends, versions };
}

import { type Clock, yieldToEventLoop } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import type { Log } from '../../../platform/log.ts';
import { LIVE, type Model } from '../model/model.ts';
import { BLOCK } from '../text/saved/blocks.ts';
import { type Anchor, encodeFacts, FORMAT, type Identity } from '../text/saved/facts.ts';
import type { ReadIndex } from '../text/saved/read-index.ts';
import {
  type FileVersion,
  fileVersion,
  readSavedFile,
  removeUnfinished,
  writeSavedFile,
} from '../text/saved/saved-file.ts';
import { hasAnchor, readAnchor, readQueueEnd, readSystem } from '../text/saved/store.ts';
import { writeEnd, writeIndex } from '../text/saved/write-index.ts';
import { createTextIndex, type TextIndex } from '../text/text-index.ts';
import type { SavedTexts } from './index-text.ts';
import type { Moment } from './store.ts';

/** A smaller market indexes its texts in less than a second. */
const LEAST_LISTINGS = 10_000;
/** The index is saved again once so many listings changed, or this share of them. The next start reads these one by one. */
const CHANGES_TO_SAVE = 1_000;
const SHARE_TO_SAVE = 0.01;
/** Above this share of missing listings, reading all texts in a row is faster than reading the missing ones one by one. */
const MOST_MISSING_SHARE = 0.25;
/** Events get their ids within a second or so. */
const NUMBERING_POLL_MS = 100;
const NUMBERED_WITHIN_MS = 10_000;

export interface TextFileOptions {
  folder: string;
  leastListings?: number;
  /** Longest time that a stop waits for the index to be saved. Then the file of an earlier time stays. */
  stopWithinMs?: number;
}

export interface KeptText {
  /** Starts to read the saved index. Resolves with null if there is none that can be used; never rejects. */
  read(signal: AbortSignal): Promise<ReadIndex | null>;
  /** Puts an index that was read into the model, unless the database does not continue what it shows. */
  adopt(model: Model, read: ReadIndex, moment: Moment): Promise<SavedTexts | null>;
  /** Saves the index if enough has changed. Never rejects; gives up when the signal is aborted. */
  save(source: SaveSource, signal: AbortSignal): Promise<void>;
}

export interface SaveSource {
  model: Model;
  moment: Moment | null;
  /** True if another model has replaced this one. */
  isReplaced(): boolean;
  /** Takes in all changes, or replaces the model if the database does not continue it. */
  refresh(): Promise<void>;
}

class NotUsable extends Error {
  override readonly name = 'NotUsable';
}

/** Thrown while the index is saved, if the model was replaced or may be inconsistent. */
class Replaced extends Error {
  override readonly name = 'Replaced';
}

interface Keeping {
  database: Database;
  clock: Clock;
  log: Log;
  folder: string;
  leastListings: number;
  /** The file that this process has seen last. */
  known: FileVersion;
  /** The index whose state the file shows, and its count of changes then. */
  inFile: IndexInFile | null;
  isFailing: boolean;
  isUnknown: boolean;
}

interface IndexInFile {
  index: TextIndex;
  changes: number;
}

/** Keeps the text index of a process in a file, so that the next start need not take all texts apart. */
export function keepText(
  parts: { database: Database; clock: Clock; log: Log },
  { folder, leastListings = LEAST_LISTINGS }: TextFileOptions,
): KeptText {
  const { database, clock, log } = parts;
  const state = { known: null, inFile: null, isFailing: false, isUnknown: false };
  const keeping: Keeping = { database, clock, log, folder, leastListings, ...state };
  return {
    read: (signal) => readFile(keeping, signal).catch((error) => (signal.aborted ? null : ignoreFile(keeping, error))),
    adopt: (model, read, moment) => adoptIndex(keeping, model, read, moment),
    save: (source, signal) => saveIfWorth(keeping, source, signal),
  };
}

function ignoreFile({ log, folder }: Keeping, error: unknown): null {
  const why = error instanceof Error ? error.message : String(error);
  log.warn('search_index_ignored', { why, path: folder, ...(error instanceof NotUsable ? {} : { error }) });
  return null;
}

async function readFile(keeping: Keeping, signal: AbortSignal): Promise<ReadIndex | null> {
  const { folder } = keeping;
  await removeUnfinished(folder).catch(() => {});
  keeping.known = await fileVersion(folder);
  if (keeping.known === null) return null;
  const system = await readSystem(keeping.database);
  const judge = (identity: Identity): void => {
    if (identity.format !== FORMAT || identity.unicode !== unicodeVersion())
      throw new NotUsable('another version of the market saved it');
    if (identity.system !== system) throw new NotUsable('it is of another database server');
  };
  return await readSavedFile(folder, { judge, giveWay: yieldToEventLoop, signal });
}

async function adoptIndex(keeping: Keeping, model: Model, read: ReadIndex, moment: Moment): Promise<SavedTexts | null> {
  try {
    await refuseOther(keeping.database, read, moment);
  } catch (error) {
    return ignoreFile(keeping, error);
  }
  model.text = createTextIndex({ giveWay: yieldToEventLoop }, read.state);
  keeping.inFile = { index: model.text, changes: model.text.changes() };
  keeping.log.info('search_index_loaded', { count: model.text.listings() });
  return savedTexts(model, read.revisions);
}

async function refuseOther(database: Database, read: ReadIndex, moment: Moment): Promise<void> {
  const { identity, lastRevision, anchor } = read;
  if (!moment.hasTimeline || identity.server !== moment.server)
    throw new NotUsable('it is of another database, or of another timeline of this one');
  if (lastRevision > Number(moment.lastRevision) || (anchor !== null && !(await hasAnchor(database, anchor))))
    throw new NotUsable('the database does not continue what it shows');
}

async function saveIfWorth(keeping: Keeping, source: SaveSource, signal: AbortSignal): Promise<void> {
  const { log, folder } = keeping;
  if (!isWorthSaving(source.model, keeping)) return;
  try {
    await saveIndex(keeping, source, signal);
    if (keeping.isFailing) log.info('search_index_saved_again');
    keeping.isFailing = false;
  } catch (error) {
    if (signal.aborted || error instanceof Replaced) {
      log.info('search_index_save_given_up');
      return;
    }
    // Log once per outage.
    if (!keeping.isFailing) log.warn('search_index_not_saved', { path: folder, error });
    keeping.isFailing = true;
  }
}

async function saveIndex(keeping: Keeping, source: SaveSource, signal: AbortSignal): Promise<void> {
  const { database, clock, log, folder, known } = keeping;
  const { model, moment, isReplaced } = source;
  const system = await readSystem(database);
  if (moment === null || !moment.hasTimeline || system === null) {
    if (!keeping.isUnknown)
      log.info('search_index_not_kept', { why: 'the database server does not say which one it is' });
    keeping.isUnknown = true;
    return;
  }
  const startedAt = clock.now();
  let changes = 0;
  const momentNow = () => {
    if (isReplaced() || model.torn) throw new Replaced();
    changes = model.text.changes();
    const revisions = model.columns.editedRevision.slice(0, model.newestId + 1);
    return { revisions, lastRevision: Math.max(model.revision, model.editRevision) };
  };
  const file = { known, bytes: model.text.bytes(), signal };
  const outcome = await writeSavedFile(folder, file, async (writer) => {
    const identity = { format: FORMAT, unicode: unicodeVersion(), system, server: moment.server };
    await writer.write(BLOCK.identity, encodeFacts(identity));
    const facts = await writeIndex(model.text, writer, momentNow);
    const anchor = await waitForAnchor(database, clock, signal);
    // If the database was set back before it named the event, the copy is replaced now.
    await source.refresh();
    if (isReplaced()) throw new Replaced();
    await writeEnd(writer, { ...facts, anchor });
  });
  if (outcome === 'busy') return;
  keeping.known = await fileVersion(folder);
  // The file of another process is about as new as this one would be.
  keeping.inFile = { index: model.text, changes: outcome === 'written' ? changes : model.text.changes() };
  if (outcome === 'written')
    log.info('search_index_saved', { count: model.text.listings(), ms: clock.now() - startedAt });
}

function isWorthSaving(
  { text, textUpTo, torn, live }: Model,
  { leastListings, inFile }: Pick<Keeping, 'leastListings' | 'inFile'>,
): boolean {
  if (textUpTo !== Number.POSITIVE_INFINITY || torn || live.count < leastListings) return false;
  if (inFile?.index !== text) return true;
  return text.changes() - inFile.changes >= Math.min(CHANGES_TO_SAVE, Math.ceil(live.count * SHARE_TO_SAVE));
}

function savedTexts(model: Model, revisions: Float64Array): SavedTexts {
  const isCurrent = (id: number): boolean => model.columns.editedRevision[id] === revisions[id] && model.text.has(id);
  let missing = 0;
  for (let id = 1; id <= model.newestId; id += 1) {
    if (model.columns.state[id] === LIVE && !isCurrent(id)) missing += 1;
  }
  return { isCurrent, isNearlyWhole: missing <= model.live.count * MOST_MISSING_SHARE };
}

function unicodeVersion(): string {
  return process.versions['unicode'] ?? 'none';
}

/** Waits until the log tells apart a database with what the file shows from one without it. */
async function waitForAnchor(database: Database, clock: Clock, signal: AbortSignal): Promise<Anchor | null> {
  const queueEnd = await readQueueEnd(database);
  for (let waited = 0; waited <= NUMBERED_WITHIN_MS; waited += NUMBERING_POLL_MS) {
    signal.throwIfAborted();
    const anchor = await readAnchor(database, queueEnd);
    if (anchor !== 'later') return anchor;
    await clock.sleep(NUMBERING_POLL_MS, signal);
  }
  throw new Error('events of the log have no numbers yet');
}

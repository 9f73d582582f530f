import { type Clock, yieldToEventLoop } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import { isTimelineRefused } from '../../../platform/database/timeline.ts';
import type { Log } from '../../../platform/log.ts';
import { createModel, type Model, nextUnfilled } from '../model/model.ts';
import type { ReadIndex } from '../text/saved/read-index.ts';
import { applyFeed, type Follower } from './apply-feed.ts';
import { indexText } from './index-text.ts';
import type { KeptText } from './keep-text.ts';
import { loadModel } from './load-model.ts';
import { type Moment, momentOf } from './store.ts';

export interface FeedOptions {
  database: Database;
  clock: Clock;
  log: Log;
  memoryBytes: number;
  followers: readonly Follower[];
  stopped: AbortSignal;
  loadListings(ids: readonly number[]): Promise<void>;
  /** Null: the text index is not saved. */
  keptText: KeptText | null;
}

export interface FeedState {
  model: Model;
  /** Null before the first load. */
  moment: Moment | null;
  /** Resolves when the text index of this model is complete. */
  searchable: Promise<void>;
  /** Resolves when no background reading or indexing is left. */
  completed: Promise<void>;
  freshAt: number;
  shelvesSeconds: number | null;
  textSeconds: number | null;
}

export interface Feed extends FeedOptions {
  state: FeedState;
  /** Listings that a request waits for because their JSON is not loaded yet. */
  requestedIds: Set<number>;
  /** True if the database now holds a different history. The next refresh then reloads everything. */
  outdated: boolean;
}

/** Shares of the memory budget: plain fragments, gzipped fragments, and the most that finished pages may take. */
const FRAGMENT_SHARE = 0.86;
const DEFLATED_SHARE = 0.04;
export const MOST_PAGES_SHARE = 0.25;

/** Limits the duration of a refresh. */
const REQUESTED_AT_ONCE = 1_000;

const LOG_EVERY_LISTINGS = 100_000;
const RETRY_MS = 1_000;

export function createFeed(options: FeedOptions): Feed {
  return {
    ...options,
    requestedIds: new Set(),
    outdated: false,
    state: {
      model: emptyModel(options),
      moment: null,
      searchable: Promise.resolve(),
      completed: Promise.resolve(),
      freshAt: options.clock.now(),
      shelvesSeconds: null,
      textSeconds: null,
    },
  };
}

function emptyModel({ memoryBytes }: FeedOptions): Model {
  return createModel({
    fragmentBytes: Math.floor(memoryBytes * FRAGMENT_SHARE),
    deflatedBytes: Math.floor(memoryBytes * DEFLATED_SHARE),
    giveWay: yieldToEventLoop,
    pageBytes: Math.floor(memoryBytes * MOST_PAGES_SHARE),
  });
}

/** Applies everything committed so far. Loads all data the first time and after a fault. Calls must not overlap. */
export async function refreshModel(feed: Feed): Promise<void> {
  const { state, clock, log } = feed;
  if (state.moment === null || state.model.torn || feed.outdated) return loadAll(feed);
  const requestedAt = clock.now();
  const requestedIds = [...feed.requestedIds].slice(0, REQUESTED_AT_ONCE);
  const moment = await applyFeed(state.model, state.moment, { ...feed, requestedIds }).catch((error: unknown) => {
    // A server that does not reveal its timeline may have replaced one that did.
    if (isTimelineRefused(error)) return null;
    throw error;
  });
  if (moment === null) {
    log.warn('catalog_feed_reset');
    return loadAll(feed);
  }
  for (const id of requestedIds) feed.requestedIds.delete(id);
  state.moment = moment;
  state.freshAt = requestedAt;
}

async function loadAll(feed: Feed): Promise<void> {
  const { state, clock, log } = feed;
  const startedAt = clock.now();
  feed.outdated = false;
  const model = emptyModel(feed);
  const isAbandoned = (): boolean => feed.stopped.aborted || state.model !== model;
  const reportProgress = (upTo: number): void => {
    if (upTo % LOG_EVERY_LISTINGS === 0) log.info('catalog_loading', { count: upTo });
  };
  const saved = feed.keptText?.read(feed.stopped) ?? Promise.resolve(null);
  const opened = await loadModel(model, { ...feed, reportProgress, stopped: isAbandoned });
  const loadedAt = clock.now();
  // Cached answers are matched by version, so a new model needs a version of its own.
  model.version = state.model.version + 1;
  // Set the model before filling and indexing start, because both stop for a model that is not current.
  state.model = model;
  const rest = { ...feed, model, startedAt, isAbandoned };
  const searchable = indexModel(rest, saved, momentOf(opened));
  const done = Promise.all([fillModel(rest, opened.filled), searchable]);
  Object.assign(state, {
    model,
    moment: momentOf(opened),
    searchable,
    completed: done.then(
      () => {},
      (error: unknown) => log.error('catalog_not_searchable', { error }),
    ),
    freshAt: startedAt,
    shelvesSeconds: (loadedAt - startedAt) / 1_000,
    textSeconds: null,
  } satisfies FeedState);
  log.info('catalog_loaded', { count: model.newestId, ms: loadedAt - startedAt });
}

interface BackgroundFill extends Feed {
  model: Model;
  startedAt: number;
  /** True if another model replaced this one, or the catalog stops. */
  isAbandoned(): boolean;
}

/** Waits for the initial load. If it fails, refreshes read the rest. */
async function fillModel(rest: BackgroundFill, filled: Promise<void>): Promise<void> {
  const { model, clock, log, startedAt, isAbandoned } = rest;
  try {
    await filled;
  } catch (error) {
    log.warn('catalog_filled_by_steps', { error });
    await fillMissing(rest);
  }
  model.filling.raiseTo(Number.POSITIVE_INFINITY);
  if (!isAbandoned()) log.info('catalog_filled', { count: model.newestId, ms: clock.now() - startedAt });
}

async function fillMissing({ model, isAbandoned, loadListings, clock, log, stopped }: BackgroundFill): Promise<void> {
  let missing = nextUnfilled(model, 0, REQUESTED_AT_ONCE);
  while (missing.length > 0 && !isAbandoned()) {
    try {
      await loadListings(missing);
    } catch (error) {
      log.warn('catalog_not_filled_yet', { error });
      await clock.sleep(RETRY_MS, stopped);
    }
    const [first = 0] = missing;
    model.filling.raiseTo(first - 1);
    missing = nextUnfilled(model, first - 1, REQUESTED_AT_ONCE);
  }
}

async function indexModel(fill: BackgroundFill, reading: Promise<ReadIndex | null>, moment: Moment): Promise<void> {
  const { state, model, startedAt, isAbandoned, database, clock, log, stopped, keptText } = fill;
  const failed = async (error: unknown): Promise<void> => {
    log.warn('catalog_not_searchable_yet', { error });
    await clock.sleep(RETRY_MS, stopped);
  };
  const read = await reading;
  const saved = read && keptText && (await keptText.adopt(model, read, moment));
  const indexing = { database, giveWay: yieldToEventLoop, stopped: isAbandoned, failed };
  await indexText(model, { ...indexing, saved });
  if (isAbandoned()) return;
  state.textSeconds = (clock.now() - startedAt) / 1_000;
  log.info('catalog_searchable', { count: model.text.listings(), ms: clock.now() - startedAt });
}

import { type Clock, yieldToEventLoop } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import { isTimelineRefused } from '../../../platform/database/timeline.ts';
import type { Log } from '../../../platform/log.ts';
import { createModel, type Model, nextUnfilled } from '../model/model.ts';
import { applyFeed, type Follower } from './apply-feed.ts';
import { indexText } from './index-text.ts';
import { loadModel } from './load-model.ts';
import { type Moment, momentOf } from './store.ts';

export interface FeedOptions {
  database: Database;
  clock: Clock;
  log: Log;
  memoryBytes: number;
  followers: readonly Follower[];
  stopped: AbortSignal;
  /** Resolves after a step that has read these listings. */
  loadListings(ids: readonly number[]): Promise<void>;
}

export interface FeedState {
  model: Model;
  /** The moment that the model shows; null while it shows none. */
  moment: Moment | null;
  /** Settles as the text index of this model does. */
  searchable: Promise<void>;
  /** Resolves when nothing is read or indexed in the background any more. */
  completed: Promise<void>;
  freshAt: number;
  shelvesSeconds: number | null;
  textSeconds: number | null;
}

export interface Feed extends FeedOptions {
  state: FeedState;
  /** Listings that a request waits for: their JSON was not read yet. */
  requestedIds: Set<number>;
  /** The model is of another history than the database's: the next step loads everything. */
  outdated: boolean;
}

/** Of the budget: what fragments may take, plain and in gzip, and finished pages where listings leave it to them. */
const FRAGMENT_SHARE = 0.86;
const DEFLATED_SHARE = 0.04;
export const MOST_PAGES_SHARE = 0.25;

/** So that no step takes long. */
const REQUESTED_AT_ONCE = 1_000;

const TELL_EVERY = 100_000;
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

/** Takes in everything that was committed until now; the first time, and after a fault, by reading all there is. One at a time. */
export async function refreshModel(feed: Feed): Promise<void> {
  const { state, clock, log } = feed;
  if (state.moment === null || state.model.torn || feed.outdated) return loadAll(feed);
  const askedAt = clock.now();
  const requestedIds = [...feed.requestedIds].slice(0, REQUESTED_AT_ONCE);
  const moment = await applyFeed(state.model, state.moment, { ...feed, requestedIds }).catch((error: unknown) => {
    // Another server may have taken the place of one that told its timeline.
    if (isTimelineRefused(error)) return null;
    throw error;
  });
  if (moment === null) {
    log.warn('catalog_feed_reset');
    return loadAll(feed);
  }
  for (const id of requestedIds) feed.requestedIds.delete(id);
  state.moment = moment;
  state.freshAt = askedAt;
}

async function loadAll(feed: Feed): Promise<void> {
  const { state, clock, log } = feed;
  const begun = clock.now();
  feed.outdated = false;
  const model = emptyModel(feed);
  const givenUp = (): boolean => feed.stopped.aborted || state.model !== model;
  const tell = (upTo: number): void => {
    if (upTo % TELL_EVERY === 0) log.info('catalog_loading', { count: upTo });
  };
  const opened = await loadModel(model, { ...feed, tell, stopped: givenUp });
  const loadedAt = clock.now();
  // Answers that are kept are of one model and one version.
  model.version = state.model.version + 1;
  // Before it is filled and indexed, as that is given up for any other.
  state.model = model;
  const rest = { ...feed, model, begun, givenUp };
  const searchable = index(rest);
  const done = Promise.all([fill(rest, opened.filled), searchable]);
  Object.assign(state, {
    model,
    moment: momentOf(opened),
    searchable,
    completed: done.then(
      () => {},
      (error: unknown) => log.error('catalog_not_searchable', { error }),
    ),
    freshAt: begun,
    shelvesSeconds: (loadedAt - begun) / 1_000,
    textSeconds: null,
  } satisfies FeedState);
  log.info('catalog_loaded', { count: model.newestId, ms: loadedAt - begun });
}

/** What goes on while shelves are served. */
interface BackgroundFill extends Feed {
  model: Model;
  begun: number;
  /** Another model has taken its place, or the catalog stops. */
  givenUp(): boolean;
}

/** Where one reading of everything was cut off, what it left is read by steps. */
async function fill(rest: BackgroundFill, filled: Promise<void>): Promise<void> {
  const { model, clock, log, begun, givenUp } = rest;
  try {
    await filled;
  } catch (error) {
    log.warn('catalog_filled_by_steps', { error });
    await fillMissing(rest);
  }
  model.filling.rise(Number.POSITIVE_INFINITY);
  if (!givenUp()) log.info('catalog_filled', { count: model.newestId, ms: clock.now() - begun });
}

async function fillMissing({ model, givenUp, loadListings, clock, log, stopped }: BackgroundFill): Promise<void> {
  let missing = nextUnfilled(model, 0, REQUESTED_AT_ONCE);
  while (missing.length > 0 && !givenUp()) {
    try {
      await loadListings(missing);
    } catch (error) {
      log.warn('catalog_not_filled_yet', { error });
      await clock.sleep(RETRY_MS, stopped);
    }
    const [first = 0] = missing;
    model.filling.rise(first - 1);
    missing = nextUnfilled(model, first - 1, REQUESTED_AT_ONCE);
  }
}

async function index({ state, model, begun, givenUp, database, clock, log, stopped }: BackgroundFill): Promise<void> {
  const failed = async (error: unknown): Promise<void> => {
    log.warn('catalog_not_searchable_yet', { error });
    await clock.sleep(RETRY_MS, stopped);
  };
  await indexText(model, { database, giveWay: yieldToEventLoop, stopped: givenUp, failed });
  if (givenUp()) return;
  state.textSeconds = (clock.now() - begun) / 1_000;
  log.info('catalog_searchable', { count: model.text.listings(), ms: clock.now() - begun });
}

import type { Clock } from '../../../platform/clock.ts';
import type { Database } from '../../../platform/database/database.ts';
import { giveWay } from '../../../platform/give-way.ts';
import type { Log } from '../../../platform/log.ts';
import { createModel, type Model } from '../model/model.ts';
import { readStep } from './follow.ts';
import type { Follower } from './followers.ts';
import { indexText } from './index-text.ts';
import { loadModel } from './load-model.ts';

export interface FeedOptions {
  database: Database;
  clock: Clock;
  log: Log;
  memoryBytes: number;
  followers: readonly Follower[];
  stopped: AbortSignal;
}

export interface FeedState {
  model: Model;
  /** The snapshot that the model is of; null while it is of none. */
  snapshot: string | null;
  /** Settles as the text index of this model does. */
  searchable: Promise<void>;
  /** Resolves when nothing is being indexed. */
  indexed: Promise<void>;
  freshAt: number;
  shelvesSeconds: number | null;
  textSeconds: number | null;
}

export interface Feed extends FeedOptions {
  state: FeedState;
}

/** Of the budget: what fragments may take, plain and in gzip. The rest is for finished answers. */
const FRAGMENT_SHARE = 0.92;
const DEFLATED_SHARE = 0.04;

const TELL_EVERY = 100_000;
const SEARCH_RETRY_MS = 1_000;

export function createFeed(options: FeedOptions): Feed {
  return {
    ...options,
    state: {
      model: emptyModel(options),
      snapshot: null,
      searchable: Promise.resolve(),
      indexed: Promise.resolve(),
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
    giveWay,
  });
}

/** Takes in everything that was committed until now; the first time, and after a fault, by reading all there is. One at a time. */
export async function stepForward(feed: Feed): Promise<void> {
  const { state, clock, log } = feed;
  if (state.snapshot === null) return loadAll(feed);
  const asked = clock.now();
  const step = await readStep(state.model, state.snapshot, feed);
  if (step === null) {
    log.warn('catalog_lost_track');
    return loadAll(feed);
  }
  // Until it is taken in whole nothing is known of the model: if that throws, the next step reads everything anew.
  state.snapshot = null;
  step.apply();
  state.snapshot = step.snapshot;
  state.freshAt = asked;
}

async function loadAll(feed: Feed): Promise<void> {
  const { state, clock, log } = feed;
  const begun = clock.now();
  const model = emptyModel(feed);
  const { snapshot } = await loadModel(model, { ...feed, tell: createProgress(log) });
  const loadedAt = clock.now();
  // Answers that are kept are of one model and one version.
  model.version = state.model.version + 1;
  // Before it is indexed, as the index of any other is given up.
  state.model = model;
  const searchable = index(feed, model, begun);
  Object.assign(state, {
    model,
    snapshot,
    searchable,
    indexed: searchable.catch((error: unknown) => log.error('catalog_not_searchable', { error })),
    freshAt: begun,
    shelvesSeconds: (loadedAt - begun) / 1_000,
    textSeconds: null,
  } satisfies FeedState);
  log.info('catalog_loaded', { count: model.newestId, ms: loadedAt - begun });
}

async function index({ state, database, clock, log, stopped }: Feed, model: Model, begun: number): Promise<void> {
  const givenUp = (): boolean => stopped.aborted || state.model !== model;
  const failed = async (error: unknown): Promise<void> => {
    log.warn('catalog_not_searchable_yet', { error });
    await clock.sleep(SEARCH_RETRY_MS, stopped);
  };
  await indexText(model, { database, giveWay, stopped: givenUp, failed });
  if (givenUp()) return;
  state.textSeconds = (clock.now() - begun) / 1_000;
  log.info('catalog_searchable', { count: model.text.listings(), ms: clock.now() - begun });
}

function createProgress(log: Log): (count: number) => void {
  let due = TELL_EVERY;
  return (count) => {
    if (count < due) return;
    due = count + TELL_EVERY;
    log.info('catalog_loading', { count });
  };
}

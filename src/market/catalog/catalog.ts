import { createSingleFlight } from '../../platform/background-jobs.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Log } from '../../platform/log.ts';
import type { Follower } from './feed/apply-feed.ts';
import { type KeptText, keepText, type TextFileOptions } from './feed/keep-text.ts';
import { createFeed, type Feed, refreshModel } from './feed/refresh-model.ts';
import { columnBytes } from './model/columns.ts';
import type { Model } from './model/model.ts';

/** How often to look for commits of other processes. This process applies its own commits at once. */
const POLL_MS = 100;
/** A single write is applied at once. When writes are frequent, several of them share one refresh. */
const REFRESH_EVERY_MS = 20;
const REFRESH_BURST = 4;
/** Replaces REFRESH_EVERY_MS while reads are very frequent. */
const CROWDED_REFRESH_EVERY_MS = 100;
const SAVE_TEXT_EVERY_MS = 600_000;
const STOP_WITHIN_MS = 5_000;

export interface CatalogFacts {
  listings: number;
  live: number;
  fragmentBytes: number;
  textBytes: number;
  /** Seconds since the model was last known to be up to date. */
  feedLagSeconds: number;
  loadSeconds: { shelves: number | null; text: number | null };
}

export interface Catalog {
  /** Returns the current copy. Call it for each answer, because a reload replaces the copy. */
  model(): Model;
  /** Loads what the shelves need, then follows changes. Resolves once shelves can be served; the rest loads in the background. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Resolves when everything committed before the call is in the model. */
  fresh(): Promise<void>;
  /** Resolves after a refresh that also loads the JSON of these listings. If there are very many, some may still be missing. */
  loadListings(ids: readonly number[]): Promise<void>;
  /** Makes the next refresh reload everything, because the database now holds a different history. */
  reload(): void;
  searchable(): Promise<void>;
  facts(): CatalogFacts;
}

export interface CatalogOptions {
  database: Database;
  clock: Clock;
  log: Log;
  memoryBytes: number;
  followers?: readonly Follower[];
  isCrowded?(): boolean;
  /** Folder and limits of the saved text index. If omitted, the index is not saved. */
  textFile?: TextFileOptions;
}

/** Creates an in-memory copy of the market's public data that follows the database. */
export function createCatalog(options: CatalogOptions): Catalog {
  const { clock, log } = options;
  const stopping = new AbortController();
  const loadListings = async (ids: readonly number[]): Promise<void> => {
    for (const id of ids) feed.requestedIds.add(id);
    await refreshes.fresh();
  };
  const { followers = [], isCrowded = () => false } = options;
  const keptText = options.textFile === undefined ? null : keepText(options, options.textFile);
  const feed = createFeed({ ...options, followers, stopped: stopping.signal, loadListings, keptText });
  // While a request waits for a listing's JSON, use the short pause.
  const atTimes = { everyMs: CROWDED_REFRESH_EVERY_MS, now: () => isCrowded() && feed.requestedIds.size === 0 };
  const pace = { clock, everyMs: REFRESH_EVERY_MS, atOnce: REFRESH_BURST, atTimes };
  const refreshes = createSingleFlight(() => refreshModel(feed), pace);
  const saving =
    keptText &&
    createSaving({
      feed,
      keptText,
      refresh: () => refreshes.fresh(),
      stopWithinMs: options.textFile?.stopWithinMs ?? STOP_WITHIN_MS,
    });
  let polling: Promise<void> | null = null;

  async function poll(): Promise<void> {
    let failing = false;
    while (!stopping.signal.aborted) {
      try {
        await refreshes.fresh();
        if (failing) log.info('catalog_feed_recovered');
        failing = false;
      } catch (error) {
        // Log once per outage; reads continue from memory.
        if (!failing) log.error('catalog_feed_failed', { error });
        failing = true;
      }
      await clock.sleep(POLL_MS, stopping.signal);
    }
  }

  return {
    model: () => feed.state.model,
    start: async () => {
      await refreshes.fresh();
      polling ??= poll();
      saving?.start();
    },
    stop: async () => {
      stopping.abort();
      await polling;
      await refreshes.ended();
      await feed.state.completed;
      await saving?.end();
    },
    fresh: () => refreshes.fresh(),
    loadListings,
    reload: () => {
      feed.outdated = true;
    },
    searchable: () => feed.state.searchable,
    facts: () => factsOf(feed),
  };
}

interface SavingOptions {
  feed: Feed;
  keptText: KeptText;
  refresh(): Promise<void>;
  stopWithinMs: number;
}

function factsOf({ state, clock }: Feed): CatalogFacts {
  const { model, freshAt, shelvesSeconds, textSeconds } = state;
  const { live, garbage } = model.fragments.bytes();
  return {
    listings: model.newestId,
    live: model.live.count,
    fragmentBytes: live + garbage + columnBytes(model.columns),
    textBytes: model.text.bytes(),
    feedLagSeconds: (clock.now() - freshAt) / 1_000,
    loadSeconds: { shelves: shelvesSeconds, text: textSeconds },
  };
}

/** Saves the text index once it is complete, at times, and at the end. */
function createSaving({ feed, keptText, refresh, stopWithinMs }: SavingOptions): {
  start(): void;
  end(): Promise<void>;
} {
  const { clock, stopped } = feed;
  const ending = new AbortController();
  let saving: Promise<void> | null = null;

  async function save(): Promise<void> {
    const { model, moment } = feed.state;
    await keptText.save({ model, moment, isReplaced: () => feed.state.model !== model, refresh }, ending.signal);
  }

  async function keepSaving(): Promise<void> {
    while (!stopped.aborted) {
      await feed.state.searchable.catch(() => {});
      await save();
      await clock.sleep(SAVE_TEXT_EVERY_MS, stopped);
    }
  }

  async function finish(): Promise<void> {
    await saving;
    await save();
  }

  return {
    start: () => {
      saving ??= keepSaving();
    },
    end: async () => {
      if (saving === null) return;
      const done = new AbortController();
      await Promise.race([finish(), clock.sleep(stopWithinMs, done.signal)]);
      done.abort();
      ending.abort();
    },
  };
}

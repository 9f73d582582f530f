import { createSingleFlight } from '../../platform/background-jobs.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Log } from '../../platform/log.ts';
import type { Follower } from './feed/apply-feed.ts';
import { createFeed, refreshModel } from './feed/refresh-model.ts';
import { columnBytes } from './model/columns.ts';
import type { Model } from './model/model.ts';

/** For what other processes committed; what this one commits, it takes in at once. */
const POLL_MS = 100;
/** While much is written, writers share steps; one that comes alone does not wait. */
const REFRESH_EVERY_MS = 20;
const REFRESH_BURST = 4;
/** While very much is read. */
const CROWDED_REFRESH_EVERY_MS = 100;

export interface CatalogFacts {
  listings: number;
  live: number;
  fragmentBytes: number;
  textBytes: number;
  /** Since the last time that the model was known to be up to date. */
  feedLagSeconds: number;
  loadSeconds: { shelves: number | null; text: number | null };
}

export interface Catalog {
  /** The current copy. Call this again for each answer: after a fault another copy replaces it. */
  model(): Model;
  /** Reads what decides on the shelves, then begins to follow. Resolves when they can be served; the rest comes later. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Resolves when everything that was committed before the call is in the model. */
  fresh(): Promise<void>;
  /**
   * Resolves after a step that read the JSON of these listings, which a model that was opened a moment ago need not have yet. With very
   * many of them at a time some may still be without.
   */
  loadListings(ids: readonly number[]): Promise<void>;
  /** The next step reads everything again: the database now holds another history. */
  reload(): void;
  /** Resolves when words can be searched for. */
  searchable(): Promise<void>;
  facts(): CatalogFacts;
}

export interface CatalogOptions {
  database: Database;
  clock: Clock;
  log: Log;
  memoryBytes: number;
  /** Kept of the same moment as the model. */
  followers?: readonly Follower[];
  /** Whether very much is read. */
  isCrowded?(): boolean;
}

/** A copy of the public part of the market in this process's memory, which follows the database. */
export function createCatalog(options: CatalogOptions): Catalog {
  const { clock, log } = options;
  const stopping = new AbortController();
  const loadListings = async (ids: readonly number[]): Promise<void> => {
    for (const id of ids) feed.requestedIds.add(id);
    await passes.fresh();
  };
  const { followers = [], isCrowded = () => false } = options;
  const feed = createFeed({ ...options, followers, stopped: stopping.signal, loadListings });
  // While a request waits for a listing's JSON, the longer pause does not apply.
  const atTimes = { everyMs: CROWDED_REFRESH_EVERY_MS, now: () => isCrowded() && feed.requestedIds.size === 0 };
  const pace = { clock, everyMs: REFRESH_EVERY_MS, atOnce: REFRESH_BURST, atTimes };
  const passes = createSingleFlight(() => refreshModel(feed), pace);
  let polling: Promise<void> | null = null;

  async function poll(): Promise<void> {
    let failing = false;
    while (!stopping.signal.aborted) {
      try {
        await passes.fresh();
        if (failing) log.info('catalog_feed_recovered');
        failing = false;
      } catch (error) {
        // One line for a whole outage; reads go on from what is known.
        if (!failing) log.error('catalog_feed_failed', { error });
        failing = true;
      }
      await clock.sleep(POLL_MS, stopping.signal);
    }
  }

  return {
    model: () => feed.state.model,
    start: async () => {
      await passes.fresh();
      polling ??= poll();
    },
    stop: async () => {
      stopping.abort();
      await polling;
      await passes.ended();
      await feed.state.completed;
    },
    fresh: () => passes.fresh(),
    loadListings,
    reload: () => {
      feed.outdated = true;
    },
    searchable: () => feed.state.searchable,
    facts: () => {
      const { model, freshAt, shelvesSeconds, textSeconds } = feed.state;
      const { live, garbage } = model.fragments.bytes();
      return {
        listings: model.newestId,
        live: model.live.count,
        fragmentBytes: live + garbage + columnBytes(model.columns),
        textBytes: model.text.bytes(),
        feedLagSeconds: (clock.now() - freshAt) / 1_000,
        loadSeconds: { shelves: shelvesSeconds, text: textSeconds },
      };
    },
  };
}

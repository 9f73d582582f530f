import type { Database, Queryable } from '../../../platform/database/database.ts';
import { applyListing, applyMerchant } from '../model/apply-changes.ts';
import type { Model } from '../model/model.ts';
import { applyPins } from '../model/pins.ts';
import { type ListingRow, readListings } from '../store.ts';
import {
  type MerchantRow,
  type Moment,
  momentOf,
  type PinPeriod,
  peekAtChanges,
  readChanges,
  readMerchants,
  readPinPeriods,
} from './store.ts';

/** Up to this many changed listings are fetched by the query that finds the changes. */
const MOST_AT_ONCE = 200;
/** More changes are applied in portions of this many rows. A portion blocks requests for about 40 ms. */
const PORTION = 250;

/** Another in-memory copy that must show the same moment as the model. */
export interface Follower {
  /** Sends one query synchronously. Resolves with a function that applies the news and never throws, or with null if nothing is new. */
  read(queryable: Queryable): Promise<(() => void) | null>;
}

export interface Source {
  database: Database;
  followers: readonly Follower[];
  /** Listings to read even if they did not change. */
  requestedIds: readonly number[];
  /** Stops a long refresh between two portions. */
  stopped?: AbortSignal;
}

export async function readFollowers(queryable: Queryable, followers: readonly Follower[]): Promise<(() => void)[]> {
  const appliers = await Promise.all(followers.map((follower) => follower.read(queryable)));
  return appliers.filter((apply) => apply !== null);
}

/**
 * Moves the model from `since` to a new moment and returns that moment. Null if the list of changes no longer reaches back to `since`; only
 * a full load helps then. If it throws, the model may hold some of the changes; the next refresh from the same moment applies all of them
 * again.
 */
export async function applyFeed(model: Model, since: Moment, source: Source): Promise<Moment | null> {
  const { database, followers, requestedIds } = source;
  const request = { revision: BigInt(model.revision), most: MOST_AT_ONCE, requestedIds: requestedIds.map(BigInt) };
  const [appliers, changes] = await database.transaction(
    // Send the commit with the last query, so that the transaction takes one round trip.
    (tx) => Promise.all([readFollowers(tx, followers), peekAtChanges(tx.last, since, request)]),
    // Plan once, because planning takes three times as long as execution.
    { isolation: 'repeatable read', readOnly: true, planned: 'once' },
  );
  if (changes.listings === null) return applyFeedInPortions(model, since, source);
  applyRows(model, { listings: changes.listings, appliers, lastRevision: changes.lastRevision });
  return momentOf(changes);
}

/**
 * Applies changes in portions, so that requests are answered in between. All portions come from one snapshot: merchants first, then changed
 * listings in the order of their edits, then requested listings.
 */
async function applyFeedInPortions(model: Model, since: Moment, source: Source): Promise<Moment | null> {
  const { database, followers, requestedIds, stopped } = source;
  return database.transaction(
    async (tx) => {
      const changes = await readChanges(tx, since);
      if (changes === null) return null;
      const { lastRevision, merchantIds } = changes;
      const listingIds = [...new Set([...changes.listingIds, ...requestedIds.map(BigInt)])];
      // Take merchants first, because a listing needs its merchant.
      const readPortion = async () => {
        const ids = merchantIds.splice(0, PORTION);
        const [merchants, rows] = await Promise.all([
          readMerchants(tx, ids),
          readListings(tx, listingIds.splice(0, PORTION - ids.length)),
        ]);
        return { merchants, listings: rows };
      };
      while (merchantIds.length + listingIds.length > PORTION) {
        applyRows(model, await readPortion());
        if (stopped?.aborted) return since;
      }
      const pins = lastRevision > BigInt(model.revision) ? await readPinPeriods(tx, BigInt(model.revision)) : [];
      const rows = await readPortion();
      applyRows(model, { ...rows, pins, appliers: await readFollowers(tx, followers), lastRevision });
      return momentOf(changes);
    },
    // Plan each time, because the number of changes varies by a factor of thousands.
    { isolation: 'repeatable read', readOnly: true, planned: 'each time' },
  );
}

interface ChangedRows {
  merchants?: readonly MerchantRow[];
  listings: readonly ListingRow[];
  pins?: readonly PinPeriod[];
  appliers?: readonly (() => void)[];
  /** Omitted while earlier acts may still be missing. */
  lastRevision?: bigint;
}

/** Applies everything synchronously, so that no reader sees half of it. */
function applyRows(
  model: Model,
  { merchants = [], listings, pins = [], appliers = [], lastRevision }: ChangedRows,
): void {
  model.torn = true;
  for (const row of merchants) applyMerchant(model, row);
  for (const row of listings) applyListing(model, row);
  if (lastRevision !== undefined) applyPins(model, pins, lastRevision);
  for (const applyNews of appliers) applyNews();
  if (merchants.length + listings.length + pins.length + appliers.length > 0) model.version += 1;
  model.torn = false;
}

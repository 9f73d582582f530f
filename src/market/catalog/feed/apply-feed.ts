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

/** So many changed listings come with the answer that says what has changed. */
const MOST_AT_ONCE = 200;
/** Of more than that so many rows are applied without a pause: some 40 ms, in which no request is answered. */
const PORTION = 250;

/** Something else that is kept in memory and has to be of the same moment as the model. */
export interface Follower {
  /** Asks by one statement, before this returns; the function that comes back applies what is new and never fails. Null: nothing is new. */
  read(queryable: Queryable): Promise<(() => void) | null>;
}

export interface Source {
  database: Database;
  followers: readonly Follower[];
  /** Listings to be read though they have not changed. */
  requestedIds: readonly number[];
  /** Ends a long step between two portions. */
  stopped?: AbortSignal;
}

/** The functions that apply what is new to all of them. */
export async function readFollowers(queryable: Queryable, followers: readonly Follower[]): Promise<(() => void)[]> {
  const applies = await Promise.all(followers.map((follower) => follower.read(queryable)));
  return applies.filter((apply) => apply !== null);
}

/**
 * Brings the model from that moment to a new one, and returns the new one. Null: what has changed since is not known any more, and
 * only a full load helps. If it throws, the model may hold a part of what is new; the next step from the same moment does all of it again.
 */
export async function applyFeed(model: Model, since: Moment, source: Source): Promise<Moment | null> {
  const { database, followers, requestedIds } = source;
  const known = { revision: BigInt(model.revision), most: MOST_AT_ONCE, requestedIds: requestedIds.map(BigInt) };
  const [applies, changes] = await database.transaction(
    // The commit goes with the last of them, so that all of it is one turn.
    (tx) => Promise.all([readFollowers(tx, followers), peekAtChanges(tx.last, since, known)]),
    // Planning takes three times as long as running it.
    { isolation: 'repeatable read', readOnly: true, planned: 'once' },
  );
  if (changes.listings === null) return applyFeedInPortions(model, since, source);
  apply(model, { listings: changes.listings, applies, lastRevision: changes.lastRevision });
  return momentOf(changes);
}

/** Of any size. In portions, between which requests are answered; all of one snapshot, so that edits come in the order of their acts. */
async function applyFeedInPortions(model: Model, since: Moment, source: Source): Promise<Moment | null> {
  const { database, followers, requestedIds: wanted, stopped } = source;
  return database.transaction(
    async (tx) => {
      const changes = await readChanges(tx, since);
      if (changes === null) return null;
      const { lastRevision, merchantIds } = changes;
      const listingIds = [...new Set([...changes.listingIds, ...wanted.map(BigInt)])];
      // A listing's merchant is known before it.
      const readPortion = async () => {
        const ids = merchantIds.splice(0, PORTION);
        const [merchants, rows] = await Promise.all([
          readMerchants(tx, ids),
          readListings(tx, listingIds.splice(0, PORTION - ids.length)),
        ]);
        return { merchants, listings: rows };
      };
      while (merchantIds.length + listingIds.length > PORTION) {
        apply(model, await readPortion());
        if (stopped?.aborted) return since;
      }
      const pins = lastRevision > BigInt(model.revision) ? await readPinPeriods(tx, BigInt(model.revision)) : [];
      apply(model, {
        ...(await readPortion()),
        pins,
        applies: await readFollowers(tx, followers),
        lastRevision: lastRevision,
      });
      return momentOf(changes);
    },
    // How many have changed differs by a factor of thousands.
    { isolation: 'repeatable read', readOnly: true, planned: 'each time' },
  );
}

interface ChangedRows {
  merchants?: readonly MerchantRow[];
  listings: readonly ListingRow[];
  pins?: readonly PinPeriod[];
  applies?: readonly (() => void)[];
  /** Null: acts before it may be missing still. */
  lastRevision?: bigint;
}

/** Without a pause in between, so that no reader ever sees half of it. */
function apply(model: Model, { merchants = [], listings, pins = [], applies = [], lastRevision }: ChangedRows): void {
  model.torn = true;
  for (const row of merchants) applyMerchant(model, row);
  for (const row of listings) applyListing(model, row);
  if (lastRevision !== undefined) applyPins(model, pins, lastRevision);
  for (const applyNews of applies) applyNews();
  if (merchants.length + listings.length + pins.length + applies.length > 0) model.version += 1;
  model.torn = false;
}

import type { Database, Tx } from '../../../platform/database/database.ts';
import { applyListing } from '../model/apply-listing.ts';
import { applyMerchant } from '../model/apply-merchant.ts';
import type { Model } from '../model/model.ts';
import { applyPins } from '../model/pins.ts';
import { type ListingRow, readListings } from '../store.ts';
import { type Follower, glanceAtFollowers, readFollowers } from './followers.ts';
import {
  glanceAtChanges,
  type MerchantRow,
  type Moment,
  type PinPeriod,
  readChanges,
  readMerchants,
  readPinPeriods,
} from './store.ts';

/** Taking in more than that would hold up requests for longer than reading everything anew, which gives way to them. */
const MOST_AT_ONCE = 100_000;
/** So that no statement takes long, however much was missed. */
const PORTION = 5_000;
/** What comes with the answer that says what has changed. */
const MOST_AT_A_GLANCE = 200;

/** What was committed since a snapshot, read and not yet taken in. */
export interface Step {
  /** Of which all of it is. */
  snapshot: string;
  apply(): void;
}

interface Source {
  database: Database;
  followers: readonly Follower[];
  /** Listings to be read though they have not changed. */
  wanted: readonly number[];
}

/** Reads everything that was committed since that snapshot. Null: it is not known any more, or too much; then only a full reading helps. */
export async function readStep(model: Model, since: string, source: Source): Promise<Step | null> {
  return (await readSmallStep(model, since, source)) ?? (await readAnyStep(model, since, source));
}

interface News {
  merchants: readonly MerchantRow[];
  listings: readonly ListingRow[];
  pins: readonly PinPeriod[];
  applies: readonly (() => void)[];
}

function stepOf(model: Model, { snapshot, lastAct }: Moment, { merchants, listings, pins, applies }: News): Step {
  return {
    snapshot,
    // Without a pause in between, so that no reader ever sees half of it.
    apply: () => {
      for (const row of merchants) applyMerchant(model, row);
      for (const row of listings) applyListing(model, row);
      applyPins(model, pins, lastAct);
      for (const apply of applies) apply();
      if (merchants.length + listings.length + pins.length + applies.length > 0) model.version += 1;
    },
  };
}

/** In one turn, and one snapshot; null when that is not enough. */
async function readSmallStep(
  model: Model,
  since: string,
  { database, followers, wanted }: Source,
): Promise<Step | null> {
  const known = {
    act: BigInt(model.act),
    most: MOST_AT_A_GLANCE,
    wanted: wanted.map(BigInt),
  };
  const [applies, glance] = await database.transaction(
    // Handed in in this order, as the commit goes with the last.
    (tx) => Promise.all([glanceAtFollowers(tx, followers), glanceAtChanges(tx.last, since, known)]),
    // Planning it takes three times as long as running it.
    { isolation: 'repeatable read', readOnly: true, planned: 'once' },
  );
  if (applies === null || glance.listings === null) return null;
  return stepOf(model, glance, { merchants: [], listings: glance.listings, pins: [], applies });
}

async function readAnyStep(model: Model, since: string, { database, followers, wanted }: Source): Promise<Step | null> {
  return database.transaction(
    async (tx) => {
      const changes = await readChanges(tx, since);
      if (changes.lost || changes.listingIds.length > MOST_AT_ONCE) return null;
      const merchants = changes.merchantIds.length > 0 ? await readMerchants(tx, changes.merchantIds) : [];
      const listings = await readInPortions(tx, [...new Set([...changes.listingIds, ...wanted.map(BigInt)])]);
      const pins = changes.lastAct > BigInt(model.act) ? await readPinPeriods(tx, BigInt(model.act)) : [];
      const applies = await readFollowers(tx, followers);
      return stepOf(model, changes, { merchants, listings, pins, applies });
    },
    // How many have changed differs by a factor of thousands.
    { isolation: 'repeatable read', readOnly: true, planned: 'each time' },
  );
}

async function readInPortions(tx: Tx, ids: readonly bigint[]): Promise<ListingRow[]> {
  const rows: ListingRow[] = [];
  for (let from = 0; from < ids.length; from += PORTION) {
    for (const row of await readListings(tx, ids.slice(from, from + PORTION))) rows.push(row);
  }
  return rows;
}

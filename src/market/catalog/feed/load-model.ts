import type { Database } from '../../../platform/database/database.ts';
import { giveWay } from '../../../platform/give-way.ts';
import { unpackListing } from '../listing-facts.ts';
import { applyListing } from '../model/apply-listing.ts';
import { applyMerchant } from '../model/apply-merchant.ts';
import { LIVE, type Model } from '../model/model.ts';
import { applyPins } from '../model/pins.ts';
import { fillSorted } from '../sets/sorted-ids.ts';
import { readListingsBetween } from '../store.ts';
import { type Follower, readFollowers } from './followers.ts';
import { type Moment, readMerchantsFrom, readMoment, readPinPeriods } from './store.ts';

const PORTION = 2000;
const SLICE = 50;
/** After a restart of the machine everything comes from the disk. */
const STATEMENT_TIMEOUT_MS = 60_000;

export interface Loading {
  database: Database;
  followers: readonly Follower[];
  /** Called after each portion with the number of listings read so far. */
  tell(count: number): void;
}

/** Fills an empty model with everything that one snapshot shows, and says which snapshot. The text index is not part of it. */
export async function loadModel(model: Model, { database, followers, tell }: Loading): Promise<Moment> {
  return database.transaction(
    async (tx) => {
      const moment = await readMoment(tx);
      await eachPortion(
        (after) => readMerchantsFrom(tx, after, PORTION),
        (row) => applyMerchant(model, row),
      );
      await eachRange(
        moment.newestId,
        (above, upTo) => readListingsBetween(tx, above, upTo),
        (row) => applyListing(model, unpackListing(row), { orders: false }),
        () => tell(model.newestId),
      );
      fillOrders(model);
      applyPins(model, await readPinPeriods(tx, 0n), moment.lastAct);
      const applies = await readFollowers(tx, followers);
      for (const apply of applies) apply();
      return moment;
    },
    { isolation: 'repeatable read', readOnly: true, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
  );
}

/** Of ids. The next range is asked for before this one is worked on, so that database and process work side by side. */
async function eachRange<Row>(
  last: bigint,
  read: (above: bigint, upTo: bigint) => Promise<Row[]>,
  act: (row: Row) => void,
  tell: () => void,
): Promise<void> {
  const size = BigInt(PORTION);
  const ask = (above: bigint): Promise<Row[]> | null => {
    if (above >= last) return null;
    const asked = read(above, above + size);
    // Whoever waits for it may never come to, where the work on the one before throws.
    asked.catch(() => {});
    return asked;
  };
  let asked = ask(0n);
  for (let above = size; asked !== null; above += size) {
    const rows = await asked;
    asked = ask(above);
    for (let from = 0; from < rows.length; from += SLICE) {
      // So that the next range is asked for, and what has come of it taken off the line.
      await giveWay();
      for (const row of rows.slice(from, from + SLICE)) act(row);
    }
    tell();
  }
}

async function eachPortion<Row extends { id: bigint }>(
  read: (after: bigint) => Promise<Row[]>,
  act: (row: Row) => void,
): Promise<void> {
  for (let rows = await read(0n); rows.length > 0; rows = await read(rows.at(-1)?.id ?? 0n)) {
    for (const row of rows) act(row);
  }
}

function fillOrders(model: Model): void {
  const ids = new Uint32Array(model.live.count);
  let count = 0;
  for (let id = 1; id <= model.newestId; id += 1) {
    if (model.columns.state[id] === LIVE) ids[count++] = id;
  }
  for (const order of Object.values(model.orders)) fillSorted(order, ids.subarray(0, count));
}

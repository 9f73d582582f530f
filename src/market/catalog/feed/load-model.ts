import type { Database } from '../../../platform/database/database.ts';
import { applyListing } from '../model/apply-listing.ts';
import { applyMerchant } from '../model/apply-merchant.ts';
import { LIVE, type Model } from '../model/model.ts';
import { applyPins } from '../model/pins.ts';
import { fillSorted } from '../sets/sorted-ids.ts';
import { readListingsFrom } from '../store.ts';
import { type Follower, readFollowers } from './followers.ts';
import { type Moment, readMerchantsFrom, readMoment, readPinPeriods } from './store.ts';

const PORTION = 5_000;

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
      await eachPortion(
        (after) => readListingsFrom(tx, after, PORTION),
        (row) => applyListing(model, row, { orders: false }),
        tell,
      );
      fillOrders(model);
      applyPins(model, await readPinPeriods(tx, 0n), moment.lastAct);
      const applies = await readFollowers(tx, followers);
      for (const apply of applies) apply();
      return moment;
    },
    { isolation: 'repeatable read', readOnly: true },
  );
}

/** The next portion is asked for before this one is worked on, so that database and process work side by side. */
async function eachPortion<Row extends { id: bigint }>(
  read: (after: bigint) => Promise<Row[]>,
  act: (row: Row) => void,
  tell: (count: number) => void = () => {},
): Promise<void> {
  let count = 0;
  let rows = await read(0n);
  while (rows.length > 0) {
    const last = rows.at(-1)?.id ?? 0n;
    const next = rows.length === PORTION ? read(last) : Promise.resolve([]);
    // Whoever waits for it may never come to, where the work on this portion throws.
    next.catch(() => {});
    for (const row of rows) act(row);
    count += rows.length;
    tell(count);
    rows = await next;
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

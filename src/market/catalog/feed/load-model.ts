import type { Database, Tx } from '../../../platform/database/database.ts';
import { applyFigures } from '../model/apply-listing.ts';
import { applyMerchant } from '../model/apply-merchant.ts';
import { unpackFigures } from '../model/listing-figures.ts';
import { LIVE, type Model } from '../model/model.ts';
import { applyPins } from '../model/pins.ts';
import { fillSorted } from '../sets/sorted-ids.ts';
import { readFiguresBetween } from '../store.ts';
import { eachRange } from './each-range.ts';
import { fillFirst, fillModel } from './fill-model.ts';
import { type Follower, readFollowers } from './follow.ts';
import { type Moment, readMerchantsFrom, readMoment, readPinPeriods } from './store.ts';

const PORTION = 2000;
const FIGURES_AT_ONCE = 10_000;
/** After a restart of the machine everything comes from the disk. */
const STATEMENT_TIMEOUT_MS = 60_000;

export interface Loading {
  database: Database;
  followers: readonly Follower[];
  /** Called after each portion with the number of listings read so far. */
  tell(count: number): void;
  /** Nobody needs the rest of it any more. */
  stopped(): boolean;
}

/** The shelves are complete; the JSON of most listings is still to be read. */
export interface Opened extends Moment {
  /** Settles when all of it is read, or as soon as that fails. */
  filled: Promise<void>;
}

/**
 * Fills an empty model with everything that one snapshot shows, and says which snapshot. First comes what decides on the shelves, so
 * that they can be served; then, from the same snapshot, the JSON of the listings. The text index is not part of it.
 */
export async function loadModel(model: Model, loading: Loading): Promise<Opened> {
  const opened = Promise.withResolvers<Moment>();
  const filled = loading.database.transaction(
    async (tx) => {
      const moment = await openShelves(model, tx, loading);
      await fillFirst(model, tx, moment.newestId);
      opened.resolve(moment);
      await fillModel(model, tx, { newestId: moment.newestId, stopped: loading.stopped });
    },
    { isolation: 'repeatable read', readOnly: true, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
  );
  // What fails after that is for whoever waits for the rest.
  filled.catch(opened.reject);
  const { snapshot, lastAct } = await opened.promise;
  return { snapshot, lastAct, filled };
}

async function openShelves(model: Model, tx: Tx, { followers, tell }: Loading): ReturnType<typeof readMoment> {
  const moment = await readMoment(tx);
  await eachPortion(
    (after) => readMerchantsFrom(tx, after, PORTION),
    (row) => applyMerchant(model, row),
  );
  await eachRange(
    { last: moment.newestId, size: FIGURES_AT_ONCE },
    (above, upTo) => readFiguresBetween(tx, above, upTo),
    (row) => applyFigures(model, unpackFigures(row), { orders: false }),
    () => {
      tell(model.newestId);
      return true;
    },
  );
  fillOrders(model);
  applyPins(model, await readPinPeriods(tx, 0n), moment.lastAct);
  const applies = await readFollowers(tx, followers);
  for (const apply of applies) apply();
  return moment;
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

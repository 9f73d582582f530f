import { yieldToEventLoop } from '../../../platform/clock.ts';
import type { Database, Tx } from '../../../platform/database/database.ts';
import { applyFigures, applyMerchant, putFragment } from '../model/apply-changes.ts';
import { unpackFigures, unpackListing } from '../model/listing-rows.ts';
import { isFilled, LIVE, type Model } from '../model/model.ts';
import { applyPins, pinnedAt } from '../model/pins.ts';
import { fillSorted } from '../sets/sorted-ids.ts';
import { type PackedRow, readFiguresBetween, readListings, readListingsBetween } from '../store.ts';
import { type Follower, readFollowers } from './apply-feed.ts';
import { hasTimeline, type Moment, readMerchantsBetween, readMoment, readPinPeriods } from './store.ts';

const PORTION = 2_000;
const FIGURES_AT_ONCE = 10_000;
/** Rows per slice; requests are answered between slices. */
const SLICE = 50;
/** Long enough to read everything from disk after a restart of the machine. */
const STATEMENT_TIMEOUT_MS = 60_000;

export interface Loading {
  database: Database;
  followers: readonly Follower[];
  /** Called after each portion with the id up to which listings have been read. */
  reportProgress(upTo: number): void;
  stopped(): boolean;
}

/** The state in which the shelves are complete but the JSON of most listings is still to be read. */
export interface Opened extends Moment {
  /** Resolves when everything is read; rejects as soon as reading fails. */
  filled: Promise<void>;
}

/** Fills an empty model (without the text index) from one snapshot: first the shelves, so that they can be served, then the JSON. */
export async function loadModel(model: Model, loading: Loading): Promise<Opened> {
  const opened = Promise.withResolvers<Moment>();
  const byTimeline = await hasTimeline(loading.database);
  const filled = loading.database.transaction(
    async (tx) => {
      const { newestId, ...moment } = await openShelves(model, tx, { ...loading, byTimeline });
      await fillFirst(model, tx, newestId);
      opened.resolve(moment);
      await fillRest(model, tx, newestId, loading.stopped);
    },
    { isolation: 'repeatable read', readOnly: true, statementTimeoutMs: STATEMENT_TIMEOUT_MS },
  );
  // Once the shelves are open, only callers that await `filled` see a failure.
  filled.catch(opened.reject);
  return { ...(await opened.promise), filled };
}

async function openShelves(
  model: Model,
  tx: Tx,
  { followers, reportProgress, byTimeline }: Loading & { byTimeline: boolean },
): ReturnType<typeof readMoment> {
  const moment = await readMoment(tx, byTimeline);
  await eachRange(
    { last: moment.newestMerchantId, size: PORTION },
    (above, upTo) => readMerchantsBetween(tx, above, upTo),
    (row) => applyMerchant(model, row),
  );
  await eachRange(
    { last: moment.newestId, size: FIGURES_AT_ONCE },
    (above, upTo) => readFiguresBetween(tx, above, upTo),
    (row) => applyFigures(model, unpackFigures(row), { orders: false }),
    reportProgress,
  );
  fillOrders(model);
  applyPins(model, await readPinPeriods(tx, 0n), moment.lastRevision);
  for (const apply of await readFollowers(tx, followers)) apply();
  return moment;
}

function fillOrders(model: Model): void {
  const ids = new Uint32Array(model.live.count);
  let count = 0;
  for (let id = 1; id <= model.newestId; id += 1) {
    if (model.columns.state[id] === LIVE) ids[count++] = id;
  }
  for (const order of Object.values(model.orders)) fillSorted(order, ids.subarray(0, count));
}

/** Reads the listings that are requested first: the newest and the pinned ones. A small market has no others. */
async function fillFirst(model: Model, tx: Tx, newestId: bigint): Promise<void> {
  const above = newestId - BigInt(PORTION);
  for (const row of await readListingsBetween(tx, above > 0n ? above : 0n, newestId)) fillListing(model, row);
  if (above <= 0n) model.filling.raiseTo(Number.POSITIVE_INFINITY);
  const pinned = [...pinnedAt(model.pins, model.revision).ids].filter((id) => !isFilled(model, id));
  if (pinned.length === 0) return;
  for (const row of await readListings(tx, pinned.slice(0, PORTION).map(BigInt)))
    putFragment(model, Number(row.id), row);
}

/** Reads the JSON of all listings by id, from the snapshot the model was opened with. */
async function fillRest(model: Model, tx: Tx, newestId: bigint, stopped: () => boolean): Promise<void> {
  if (model.filling.upTo() === Number.POSITIVE_INFINITY) return;
  await eachRange(
    { last: newestId, size: PORTION, stopped },
    (above, upTo) => readListingsBetween(tx, above, upTo),
    (row) => fillListing(model, row),
    (upTo) => model.filling.raiseTo(upTo),
  );
  model.filling.raiseTo(Number.POSITIVE_INFINITY);
}

/** Keeps JSON that is already there, because a later refresh brought it and it is at least as new. */
function fillListing(model: Model, row: PackedRow): void {
  // The packed facts begin with the id.
  const id = Number.parseInt(row.facts, 10);
  if (!isFilled(model, id)) putFragment(model, id, unpackListing(row));
}

/** Reads ids from 1 to `last`. Requests the next range before processing the current one, so that database and process work in parallel. */
async function eachRange<Row>(
  { last, size, stopped }: { last: bigint; size: number; stopped?: () => boolean },
  read: (above: bigint, upTo: bigint) => Promise<Row[]>,
  act: (row: Row) => void,
  reportProgress: (upTo: number) => void = () => {},
): Promise<void> {
  const step = BigInt(size);
  const requestRange = (above: bigint): Promise<Row[]> | null => {
    if (above >= last) return null;
    const rowsAhead = read(above, above + step);
    // Avoid an unhandled rejection if processing the previous range throws.
    rowsAhead.catch(() => {});
    return rowsAhead;
  };
  let rowsAhead = requestRange(0n);
  for (let above = step; rowsAhead !== null; above += step) {
    const rows = await rowsAhead;
    rowsAhead = requestRange(above);
    for (let from = 0; from < rows.length; from += SLICE) {
      // Yield, so that the next query is sent and its result is read from the socket.
      await yieldToEventLoop();
      for (const row of rows.slice(from, from + SLICE)) act(row);
    }
    reportProgress(Number(above < last ? above : last));
    // Check only after the first range, because the model becomes the current one while the first range is read.
    if (stopped?.()) return;
  }
}

import { ATTRIBUTE_NAMES } from '../../../contract/listing-fields.ts';
import { AISLES, LISTING_STATES } from '../../../contract/vocabulary.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { MerchantRow } from '../feed/store.ts';
import type { AbsentFragment } from '../fragments/page-bytes.ts';
import { artifactMessage, firstLine, presentEnding, presentSummary, shownDescription } from '../present-listing.ts';
import { createPosting, setLevel } from '../sets/posting.ts';
import { insertSorted, removeSorted, type SortedIds } from '../sets/sorted-ids.ts';
import type { ListingRow } from '../store.ts';
import { FIGURES, reachId, TAGS_PER_LISTING } from './columns.ts';
import { figuresOf, type ListingFigures } from './listing-rows.ts';
import { type Label, type LabelKind, type Labels, LIVE, type Model } from './model.ts';
import { moveValue, ORDERS, RISING } from './sorts.ts';

/** Updates the model to the current row of a listing. Idempotent. */
export function applyListing(model: Model, row: ListingRow): void {
  const figures = figuresOf(row);
  const { id } = figures;
  const { wasLive, isLive, edited } = applyFigures(model, figures, { orders: true });
  putFragment(model, id, row);
  if (id <= model.textUpTo && (isLive !== wasLive || (isLive && edited))) {
    if (isLive) model.text.put(id, row);
    else model.text.remove(id);
  }
}

/** Applies everything except the texts. The first load passes `orders: false` and fills all orders at once afterwards. */
export function applyFigures(
  model: Model,
  row: ListingFigures,
  { orders }: { orders: boolean },
): { wasLive: boolean; isLive: boolean; edited: boolean } {
  const { columns } = model;
  const { id } = row;
  reachId(columns, id);
  if (id > model.newestId) model.newestId = id;
  const state = LISTING_STATES.indexOf(row.state) + 1;
  const wasLive = columns.state[id] === LIVE;
  const isLive = state === LIVE;
  const edited = columns.editedRevision[id] !== row.editedRevision;
  const isNew = columns.state[id] === 0;

  if (isNew) {
    columns.merchant[id] = row.merchantId;
    columns.priceUnits[id] = row.priceUnits;
  }
  const change = { id, wasLive, isLive };
  model.editRevision = Math.max(model.editRevision, row.editedRevision);
  columns.state[id] = state;
  moveAisle(model, AISLES.indexOf(row.aisle), change);
  moveLabels(model, 'tags', row.tags, change);
  for (const name of ATTRIBUTE_NAMES) moveLabels(model, name, row[name] === null ? [] : [row[name]], change);
  countSales(model, row);
  if (isLive !== wasLive) showOrHide(model, id, isLive);
  updateOrders(model, row, orders ? change : { id, wasLive: false, isLive: false });
  setLevel(model.verified, id, isLive && row.verifiedSales > 0 ? 1 : 0);
  return { wasLive, isLive, edited };
}

interface LiveChange {
  id: number;
  wasLive: boolean;
  isLive: boolean;
}

function moveAisle(model: Model, aisle: number, { id, wasLive, isLive }: LiveChange): void {
  const { aisle: column } = model.columns;
  const before = model.aisles[column[id] ?? 0];
  const after = model.aisles[aisle];
  if (before !== undefined && wasLive && (before !== after || !isLive)) setLevel(before, id, 0);
  if (after !== undefined && isLive && (before !== after || !wasLive)) setLevel(after, id, 1);
  column[id] = aisle;
}

function moveLabels(model: Model, kind: LabelKind, texts: readonly string[], change: LiveChange): void {
  const { id, wasLive, isLive } = change;
  const column = model.columns[kind];
  const slots = kind === 'tags' ? TAGS_PER_LISTING : 1;
  const from = id * slots;
  // Return early, because most listings leave most attributes empty.
  if (texts.length === 0 && column[from] === 0) return;
  const labels = model.labels[kind];
  const wanted = texts.slice(0, slots).map((text) => labelOf(labels, text));
  let same = true;
  for (let at = 0; at < slots; at += 1) same &&= column[from + at] === (wanted[at]?.number ?? 0);
  if (same && wasLive === isLive) return;
  if (wasLive) {
    for (let at = from; at < from + slots; at += 1) {
      const label = labels.all[(column[at] ?? 0) - 1];
      if (label !== undefined) setLevel(label.live, id, 0);
    }
  }
  for (let at = 0; at < slots; at += 1) {
    const label = wanted[at];
    column[from + at] = label?.number ?? 0;
    if (label !== undefined && isLive) setLevel(label.live, id, 1);
  }
}

function labelOf({ byText, all }: Labels, text: string): Label {
  const existing = byText.get(text);
  if (existing !== undefined) return existing;
  const label = { number: all.length + 1, live: createPosting() };
  all.push(label);
  byText.set(text, label);
  return label;
}

/** Updates the seller's sales, which include listings in every state. */
function countSales(model: Model, { id, merchantId, sales }: ListingFigures): void {
  const merchant = model.merchants[merchantId];
  if (merchant === undefined) throw new Error(`listing ${id} is of a merchant that is not known`);
  const addedSales = sales - (model.columns.sales[id] ?? 0);
  if (addedSales === 0) return;
  merchant.sales += addedSales;
  merchant.json = null;
}

function showOrHide(model: Model, id: number, isLive: boolean): void {
  const level = isLive ? 1 : 0;
  setLevel(model.live, id, level);
  if (model.columns.priceUnits[id] === 0) setLevel(model.free, id, level);
  const merchant = model.merchants[model.columns.merchant[id] ?? 0];
  if (merchant === undefined) return;
  setLevel(merchant.live, id, level);
  merchant.json = null;
}

/** Updates figures and orders. An order finds a member by the key it was inserted with, so remove it before the key changes. */
function updateOrders(
  { columns, orders, sums }: Model,
  row: ListingFigures,
  { id, wasLive, isLive }: LiveChange,
): void {
  const enteredOrders: SortedIds[] = [];
  for (const { name, key } of ORDERS) {
    const same = columns[key][id] === row[key];
    if (wasLive && !(isLive && same)) removeSorted(orders[name], id);
    if (isLive && !(wasLive && same)) enteredOrders.push(orders[name]);
  }
  for (const { sort, key } of RISING) moveValue(sums[sort], columns[key][id] ?? 0, row[key]);
  for (const figure of FIGURES) columns[figure][id] = row[figure];
  for (const order of enteredOrders) insertSorted(order, id);
}

export function putFragment(model: Model, id: number, row: ListingRow): void {
  const { bytes, span } = fragmentOf(row);
  model.fragments.put(id, bytes, span);
  if (row.state === 'live' && row.appeal === null) model.endings.delete(id);
  else {
    const json = JSON.stringify(presentEnding(row)).slice(1, -1);
    model.endings.set(id, { json, message: artifactMessage(row) });
  }
}

/** The text right after the head. It cannot occur within another text, because JSON escapes quotation marks. */
const AFTER_HEAD = ',"description":';

/** Returns the summary as JSON with the span of its outline: the members before the description, and the first line. */
export function fragmentOf(row: ListingRow): AbsentFragment {
  const bytes = Buffer.from(JSON.stringify(presentSummary(row)));
  const line = Buffer.byteLength(JSON.stringify(firstLine(shownDescription(row)))) - QUOTATION_MARKS;
  return { bytes, span: { head: bytes.indexOf(AFTER_HEAD), line } };
}

const QUOTATION_MARKS = 2;

export function applyMerchant(model: Model, row: MerchantRow): void {
  const id = Number(row.id);
  const existing = model.merchants[id];
  if (existing !== undefined) {
    existing.storeLine = row.store_line;
    existing.cityHandle = row.city_handle;
    existing.json = null;
    return;
  }
  const merchant = {
    id,
    handle: row.handle,
    joinedAt: isoTime(row.joined_at),
    storeLine: row.store_line,
    cityHandle: row.city_handle,
    live: createPosting(),
    sales: 0,
    json: null,
  };
  model.merchants[id] = merchant;
  model.merchantCount += 1;
  model.merchantOfHandle.set(row.handle, merchant);
}

/** One page, with field names common to all endpoints. */
export interface RawPage<Row> {
  rows: readonly Row[];
  /** Number of rows in the whole filtered collection at the time of this page. */
  total: number;
  returned: number;
  page_size: number;
  has_more: boolean;
  /** Cursor of the next page; null at the end. */
  next: number | string | null;
}

export interface Collection<Row> {
  /** Reads the first page, or the page after a cursor. Must use the same filters each time. */
  read(cursor: string | undefined): Promise<RawPage<Row>>;
  idOf(row: Row): number;
  ids: IdOrder;
  /**
   * For gapless collections: if the row records a recovery from a loss, returns the ID at which numbering resumed. This row is read before
   * the gap.
   */
  resumedAt?(row: Row): number | null;
  /** True if rows are never removed, so every row of the first total must arrive. */
  appendOnly: boolean;
  limit: number | undefined;
}

export interface Page<Row> {
  rows: readonly Row[];
  /** Total of the first page. No more rows than this are yielded. */
  total: number;
}

interface CursorState {
  firstTotal: number;
  seen: Set<number>;
  cursors: Set<string>;
  lastId: number | null;
  /** Number of times that IDs rose. Newest-first shelves rise once, from pinned listings to the others. */
  rises: number;
  /** IDs below which rows may be missing, because the market reported a recovery from a loss. */
  resumedIds: Set<number>;
}

/**
 * Reads a collection page by page. Throws `PageRefused` at the first page that contradicts itself or an earlier one. An oldest-first
 * collection may grow meanwhile, but only rows of the first total are yielded.
 */
export async function* readPages<Row>(collection: Collection<Row>): AsyncGenerator<Page<Row>, void, undefined> {
  const state: CursorState = {
    firstTotal: 0,
    seen: new Set(),
    cursors: new Set(),
    lastId: null,
    rises: 0,
    resumedIds: new Set(),
  };
  let cursor: string | undefined;
  for (let first = true; ; first = false) {
    const page = await collection.read(cursor);
    if (first) state.firstTotal = page.total;
    checkCounts(page, collection.limit);
    if (first) checkFirst(page, collection);
    for (const row of page.rows) state.resumedIds.add(collection.resumedAt?.(row) ?? 0);
    checkRows(page.rows.map(collection.idOf), collection.ids, state);
    const rows = withinTotal(page, collection, state);
    const complete = !page.has_more || (collection.ids === 'oldest_first' && state.seen.size >= state.firstTotal);
    checkEnd(page, collection.appendOnly, state, complete);
    if (complete && collection.ids === 'gapless') checkBeginning(state);
    const next = checkCursor(page, collection.ids, state);
    yield { rows, total: state.firstTotal };
    if (complete || next === null) return;
    cursor = next;
  }
}

function checkCounts(page: RawPage<unknown>, limit: number | undefined): void {
  const { rows, returned, page_size, has_more } = page;
  if (returned !== rows.length)
    throw new PageRefused('wrong_returned', `returned is ${returned} for ${rows.length} rows`);
  if (limit !== undefined && page_size !== limit) {
    throw new PageRefused('wrong_page_size', `page_size is ${page_size} where ${limit} was asked for`);
  }
  if (rows.length > page_size) throw new PageRefused('page_too_large', `${rows.length} rows on a page of ${page_size}`);
  if (rows.length === 0 && has_more) throw new PageRefused('empty_page', 'a page is empty and more are promised');
}

// Only on the first page are the rows read so far and the total from the same moment.
function checkFirst<Row>(page: RawPage<Row>, collection: Collection<Row>): void {
  const { rows, total, has_more } = page;
  if (rows.length > total) throw new PageRefused('more_than_total', `${rows.length} rows of a total of ${total}`);
  if (has_more !== total > rows.length) {
    throw new PageRefused('wrong_total', `has_more is ${has_more} after ${rows.length} rows of ${total}`);
  }
  const [newest] = rows;
  if (collection.ids === 'gapless' && newest !== undefined && collection.idOf(newest) < total) {
    throw new PageRefused('missing_row', `the newest row is ${collection.idOf(newest)} of a total of ${total}`);
  }
}

/** Checks that no row is missing before the oldest one. */
function checkBeginning({ lastId, resumedIds }: CursorState): void {
  if (lastId === null || lastId === 1 || resumedIds.has(lastId)) return;
  throw new PageRefused('missing_row', `the pages ended with row ${lastId}`);
}

function withinTotal<Row>(page: RawPage<Row>, collection: Collection<Row>, state: CursorState): readonly Row[] {
  const over = state.seen.size - state.firstTotal;
  if (over <= 0) return page.rows;
  if (collection.ids !== 'oldest_first' || state.seen.size > page.total) {
    throw new PageRefused('more_than_total', `${state.seen.size} rows came of a total of ${state.firstTotal}`);
  }
  return page.rows.slice(0, -over);
}

function checkEnd(page: RawPage<unknown>, appendOnly: boolean, state: CursorState, complete: boolean): void {
  const count = state.seen.size;
  if (complete && appendOnly && count < state.firstTotal) {
    throw new PageRefused('fewer_than_total', `the pages ended after ${count} rows of ${state.firstTotal}`);
  }
  if (!complete && page.has_more && count >= state.firstTotal) {
    throw new PageRefused('more_than_total', `more than the ${state.firstTotal} rows of the first total are promised`);
  }
}

/** Returns the next cursor, or null at the end. */
function checkCursor(page: RawPage<unknown>, rule: IdOrder, state: CursorState): string | null {
  const { has_more, next } = page;
  if (!has_more) {
    if (next !== null) throw new PageRefused('cursor_after_the_end', 'a cursor came with the last page');
    return null;
  }
  if (next === null) throw new PageRefused('missing_cursor', 'more pages are promised without a cursor');
  const text = String(next);
  if (state.cursors.has(text)) throw new PageRefused('repeated_cursor', 'a cursor came a second time');
  state.cursors.add(text);
  if (typeof next === 'number') checkNumeric(next, rule, state.lastId);
  return text;
}

// A numeric cursor must be the ID of the last row. A cursor before it repeats rows, one beyond it skips rows.
function checkNumeric(next: number, rule: IdOrder, lastId: number | null): void {
  if (lastId === null || next === lastId) return;
  const beyond = rule === 'oldest_first' ? next > lastId : next < lastId;
  if (beyond) throw new PageRefused('cursor_skips_rows', `the cursor ${next} skips rows after ${lastId}`);
  throw new PageRefused('cursor_does_not_advance', `the cursor ${next} does not pass row ${lastId}`);
}

/**
 * Order of IDs. `gapless`: newest first, falling by exactly one down to 1, except for gaps after a loss. `pinned_first`: newest first
 * twice, pinned rows first. `any`: no order, but no repetition.
 */
type IdOrder = 'newest_first' | 'oldest_first' | 'gapless' | 'pinned_first' | 'any';

/** Adds a page's IDs to the state. Throws if they contradict it. */
function checkRows(ids: readonly number[], rule: IdOrder, state: CursorState): void {
  for (const id of ids) {
    if (state.seen.has(id)) throw new PageRefused('repeated_row', `row ${id} came twice`);
    if (state.lastId !== null) checkOrder(state.lastId, id, rule, state);
    state.seen.add(id);
    state.lastId = id;
  }
}

function checkOrder(before: number, id: number, rule: IdOrder, state: CursorState): void {
  const rises = id > before;
  if (rises) state.rises += 1;
  const allowedRises = { newest_first: 0, gapless: 0, pinned_first: 1, oldest_first: Infinity, any: Infinity }[rule];
  if (state.rises > allowedRises || (rule === 'oldest_first' && !rises)) {
    throw new PageRefused('out_of_order', `row ${id} came after row ${before}`);
  }
  if (rule === 'gapless' && id !== before - 1 && !state.resumedIds.has(before)) {
    throw new PageRefused('missing_row', `between rows ${before} and ${id} some are missing`);
  }
}

export async function* rowsOf<Row>(pages: AsyncIterable<Page<Row>>): AsyncGenerator<Row, void, undefined> {
  for await (const page of pages) yield* page.rows;
}

export type Lie =
  | 'missing_cursor'
  | 'repeated_cursor'
  | 'cursor_does_not_advance'
  | 'cursor_skips_rows'
  | 'cursor_after_the_end'
  | 'wrong_returned'
  | 'wrong_page_size'
  | 'page_too_large'
  | 'empty_page'
  | 'wrong_total'
  | 'more_than_total'
  | 'fewer_than_total'
  | 'repeated_row'
  | 'out_of_order'
  | 'missing_row';

/** The pages contradict each other or themselves, so the rows read so far may not be the whole collection. */
export class PageRefused extends Error {
  override readonly name = 'PageRefused';
  readonly lie: Lie;

  constructor(lie: Lie, detail: string) {
    super(`the pages contradict each other: ${detail}`);
    this.lie = lie;
  }
}

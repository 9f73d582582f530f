import { BoundMet, mustHaveMemory } from '../bounds.ts';
import type { Promised } from '../promises.ts';
import { type Market, MarketUnreadable } from './ask-market.ts';
import { faultsOffShelf, faultsOnShelf, type Shown } from './faults-of-rows.ts';
import { type Fields, readFields } from './read-fields.ts';

export interface ShelvesOrder {
  market: Market;
  promises: ReadonlyMap<number, Promised>;
  most: number;
  /** Listings per page. An unusual size makes a URL that no cache has stored. */
  pageSize?: number;
  say(progress: string): void;
}

export interface ReadShelves {
  seen: Set<number>;
  /** Listings that differ from the log, by id. */
  wrong: Map<number, Shown>;
  /** Wallets by listing that are shown on the shelves but not in the log. */
  wallets: Map<number, string>;
  /** Contradiction within the shelves, or null. */
  fault: string | null;
}

export const SHELF_PAGE = 50;
/** Attempts to read all pages before the cursor expires. */
const WALKS = 3;
/** Limit on differing listings that are kept until the log is read again. */
const MAX_WRONG = 10_000;

/** Reads all shelves and checks each page against the log. */
export async function readShelves(order: ShelvesOrder): Promise<ReadShelves> {
  for (let walk = 1; ; walk += 1) {
    const shelves: ReadShelves = { seen: new Set(), wrong: new Map(), wallets: new Map(), fault: null };
    if (await walkShelves(order, shelves)) return shelves;
    if (walk === WALKS) throw new MarketUnreadable('the cursor of the shelves ran out three times. Try again');
  }
}

/** Returns false if the cursor expired. */
async function walkShelves(
  { market, promises, most, pageSize = SHELF_PAGE, say }: ShelvesOrder,
  shelves: ReadShelves,
): Promise<boolean> {
  const cursors = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const answer = await market.get('/api/shelves', { limit: pageSize, cursor });
    if (answer.status !== 200) {
      if (answer.reason === 'cursor_expired') return false;
      throw new MarketUnreadable(`GET /api/shelves is refused with ${answer.status}: ${answer.reason}`);
    }
    const { rows, total, fault, next } = readPage(answer.body, pageSize);
    if (total > most)
      throw new BoundMet(
        `the shelves say ${total} listings, and at most ${most} are read. Allow more with --max-events`,
      );
    shelves.fault ??= fault;
    for (const row of rows) {
      if (shelves.seen.has(row.id)) shelves.fault ??= `listing ${row.id} came twice`;
      checkRow(row, promises, shelves);
    }
    // Reading must end, whatever the shelves say.
    if (next !== null && (cursors.has(next) || shelves.seen.size > most)) shelves.fault ??= 'their pages do not end';
    say(`${shelves.seen.size} listings on the shelves`);
    mustHaveMemory();
    if (next === null || shelves.fault !== null) return true;
    cursors.add(next);
    cursor = next;
  }
}

function checkRow(row: Shown, promises: ReadonlyMap<number, Promised>, shelves: ReadShelves): void {
  const { seen, wrong, wallets } = shelves;
  const promised = promises.get(row.id);
  seen.add(row.id);
  if (promised?.wallet === undefined || promised.wallet === null) wallets.set(row.id, row.wallet);
  if (faultsOnShelf(row, promised).length === 0) return;
  if (wrong.size < MAX_WRONG) wrong.set(row.id, row);
  else shelves.fault ??= `more than ${MAX_WRONG} listings are not what the log says`;
}

interface Page {
  rows: Shown[];
  total: number;
  fault: string | null;
  next: string | null;
}

function readPage(given: unknown, pageSize: number): Page {
  const body = readFields(given, 'the shelves');
  const rows = body.rows('listings', pageSize).map(readListingRow);
  const [total, hasMore, next] = [body.count('total'), body.flag('has_more'), body.textOrNull('next_cursor', 512)];
  const [returned, size] = [body.count('returned'), body.count('page_size')];
  const fault =
    (returned !== rows.length && `a page says ${returned} rows and has ${rows.length}`) ||
    (size !== pageSize && `a page is of ${size} rows where ${pageSize} were asked for`) ||
    (rows.length === 0 && hasMore && 'a page is empty and more are promised') ||
    (hasMore !== (next !== null) && 'a page has a cursor where it ends, or none where it goes on');
  return { rows, total, fault: fault || null, next };
}

function readListingRow(row: Fields): Shown {
  return {
    id: row.id('id'),
    wallet: row.wallet('seller_wallet'),
    units: row.units('price_usdc'),
    commitment: row.hashOrNull('artifact_commitment'),
    merchant: row.text('merchant', 64),
    supersedes: row.idOrNull('supersedes'),
    isThing: row.word('delivery_kind') === 'city_ownership',
    state: row.word('state'),
  };
}

/** Limit on listings requested one by one, because a market limits a stranger's requests. */
const MAX_SINGLE = 10_000;
const AT_ONCE = 8;

export interface SingleOrder extends ShelvesOrder {
  ids: readonly number[];
  /** Gets the wallets that the log does not name. */
  wallets: Map<number, string>;
}

/** Rows that differ from the log, by id. Null if the listing no longer exists. */
export type WrongRows = Map<number, Shown | null>;

/** Reads listings that are not on the shelves, each from its own URL. */
export async function readSingle(order: SingleOrder): Promise<{ read: number; wrong: WrongRows }> {
  const ids = order.ids.slice(0, MAX_SINGLE);
  const first = await findWrong(order, ids);
  if (first.size === 0) return { read: ids.length, wrong: first };
  // A cache may return an old answer.
  await order.market.outlastCaches();
  return { read: ids.length, wrong: await findWrong(order, [...first.keys()]) };
}

/** Returns the listings that have faults. */
async function findWrong({ market, promises, wallets, say }: SingleOrder, ids: readonly number[]): Promise<WrongRows> {
  const wrong: WrongRows = new Map();
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE);
    const rows = await Promise.all(some.map((id) => readListing(market, id)));
    for (const [place, id] of some.entries()) {
      const row = rows[place] ?? null;
      const promised = promises.get(id);
      if (promised === undefined) continue;
      if (row !== null && promised.wallet === null) wallets.set(id, row.wallet);
      if (faultsOffShelf(id, row, promised).length > 0) wrong.set(id, row);
    }
    say(`${Math.min(ids.length, at + AT_ONCE)} of ${ids.length} listings that are off the shelves`);
  }
  return wrong;
}

async function readListing(market: Market, id: number): Promise<Shown | null> {
  const answer = await market.get(`/api/listing/${id}`, { comments_limit: 1 });
  if (answer.status === 404 || answer.status === 409) return null;
  if (answer.status !== 200)
    throw new MarketUnreadable(`GET /api/listing/${id} is refused with ${answer.status}: ${answer.reason}`);
  const row = readListingRow(readFields(answer.body, 'a listing').object('listing'));
  if (row.id !== id) throw new MarketUnreadable(`GET /api/listing/${id} answers with listing ${row.id}`);
  return row;
}

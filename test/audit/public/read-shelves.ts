import { BoundMet, createFaults, mustHaveMemory } from '../bounds.ts';
import { lineOf } from '../print.ts';
import { faultsOfPromise, type Goods, type Promised } from '../promises.ts';
import { type Market, MarketUnreadable } from './ask-market.ts';
import { type Fields, readFields } from './read-fields.ts';

interface Shown extends Goods {
  merchant: string;
  supersedes: number | null;
  isThing: boolean;
  state: string;
}

export interface ShelvesOrder {
  market: Market;
  promises: ReadonlyMap<number, Promised>;
  most: number;
  /** Listings of a page. Another size is another address, which no cache on the way has kept. */
  pageSize?: number;
  say(progress: string): void;
}

export interface ReadShelves {
  /** Listings that are on the shelves. */
  seen: Set<number>;
  /** Faults of each listing, by its id. */
  wrong: Map<number, string[]>;
  /** Wallets on the shelves that the log does not name, by listing. */
  wallets: Map<number, string>;
  /** The shelves contradict themselves. */
  fault: string | null;
}

export const SHELF_PAGE = 50;
/** A walk that takes longer than a cursor lives begins again, so many times. */
const WALKS = 3;
/** Listings whose faults are kept. */
const MOST_WRONG = 1_000;

/** Everything on the shelves, page by page held against what the log promised. */
export async function readShelves(order: ShelvesOrder): Promise<ReadShelves> {
  for (let walk = 1; ; walk += 1) {
    const shelves: ReadShelves = { seen: new Set(), wrong: new Map(), wallets: new Map(), fault: null };
    if (await walkShelves(order, shelves)) return shelves;
    if (walk === WALKS) throw new MarketUnreadable('the cursor of the shelves ran out three times. Try again');
  }
}

/** False: the cursor ran out. */
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
      hold(row, promises, shelves);
    }
    // Whatever else they say, they do not go on for ever.
    if (next !== null && (cursors.has(next) || shelves.seen.size > most)) shelves.fault ??= 'their pages do not end';
    say(`${shelves.seen.size} listings on the shelves`);
    mustHaveMemory();
    if (next === null || shelves.fault !== null) return true;
    cursors.add(next);
    cursor = next;
  }
}

function hold(row: Shown, promises: ReadonlyMap<number, Promised>, { seen, wrong, wallets }: ReadShelves): void {
  const promised = promises.get(row.id);
  seen.add(row.id);
  if (promised?.wallet === undefined || promised.wallet === null) wallets.set(row.id, row.wallet);
  const faults =
    promised === undefined ? [`listing ${row.id} has no event that tells of it`] : faultsOfShown(promised, row);
  if (promised?.ending)
    faults.push(`listing ${row.id} is for sale, and ${promised.ending.name} ${promised.ending.act} it`);
  if (faults.length > 0 && wrong.size < MOST_WRONG) wrong.set(row.id, faults);
}

function faultsOfShown(promised: Promised, row: Shown): string[] {
  const name = `listing ${row.id}`;
  return [
    ...faultsOfPromise(promised, row),
    ...(row.merchant === promised.merchant
      ? []
      : [`${name} is sold by ${lineOf(row.merchant, 64)}, and ${promised.name} says ${lineOf(promised.merchant, 64)}`]),
    ...(row.isThing === promised.isThing ? [] : [`${name} is of another kind than ${promised.name} says`]),
    // Events from before this was told do not say it.
    ...(promised.wallet === null || row.supersedes === promised.supersedes
      ? []
      : [
          `${name} supersedes ${row.supersedes ?? 'nothing'}, and ${promised.name} says ${promised.supersedes ?? 'nothing'}`,
        ]),
  ];
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

/** So many listings are asked for one by one; a market counts what a stranger asks for. */
const MOST_SINGLE = 10_000;
const AT_ONCE = 8;

export interface SingleOrder extends ShelvesOrder {
  ids: readonly number[];
  /** To be filled where the log does not name them. */
  wallets: Map<number, string>;
}

const STATES = { removed: 'removed', withdrew: 'withdrawn', sold: 'sold', canceled: 'canceled' } as const;

/** The state is what the log tells. A thing whose offer is gone from its city is `stale`, of which no event tells. */
function faultsOfState({ id, state, isThing }: Shown, { ending }: Promised): string[] {
  if (isThing && state === 'stale') return [];
  if (ending === null) return [`listing ${id} is ${state} and not on the shelves, and no event says why`];
  return state === STATES[ending.act] ? [] : [`listing ${id} is ${state}, and ${ending.name} ${ending.act} it`];
}

/** Listings that are not on the shelves, each by its own address. */
export async function readSingle(order: SingleOrder): Promise<{ read: number; faults: string[] }> {
  const ids = order.ids.slice(0, MOST_SINGLE);
  const first = await lookAt(order, ids);
  if (first.size === 0) return { read: ids.length, faults: [] };
  // An answer may be an old one, out of a cache on the way.
  await order.market.outlastCaches();
  const faults = createFaults();
  for (const some of (await lookAt(order, [...first.keys()])).values()) faults.add(some);
  return { read: ids.length, faults: faults.list() };
}

/** Faults of each of these listings that has some. */
async function lookAt(
  { market, promises, wallets, say }: SingleOrder,
  ids: readonly number[],
): Promise<Map<number, string[]>> {
  const wrong = new Map<number, string[]>();
  for (let at = 0; at < ids.length; at += AT_ONCE) {
    const some = ids.slice(at, at + AT_ONCE);
    const rows = await Promise.all(some.map((id) => readListing(market, id)));
    for (const [place, id] of some.entries()) {
      const row = rows[place] ?? null;
      const promised = promises.get(id);
      if (promised === undefined) continue;
      if (row !== null && promised.wallet === null) wallets.set(id, row.wallet);
      const faults =
        row === null
          ? [`listing ${id}, of which ${promised.name} tells, is not there`]
          : [...faultsOfShown(promised, row), ...faultsOfState(row, promised)];
      if (faults.length > 0) wrong.set(id, faults);
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

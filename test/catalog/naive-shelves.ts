import sql from 'sql-template-tag';
import type { Aisle, Sort } from '../../src/contract/vocabulary.ts';
import type { Queryable } from '../../src/platform/database/database.ts';
import type { NaiveNeed } from './naive-needs.ts';
import { coverageOf, meetsNaively, type NaiveSearch, searchNaively } from './naive-search.ts';
import { type NaiveText, type NaiveWords, wordsOfText } from './naive-words.ts';

/** A second implementation of the shelves, as simple as possible, with rows from the tables and loops over them. */

export interface NaiveQuery {
  need: NaiveNeed | null;
  tag: string | null;
  aisle: Aisle | null;
  license: string | null;
  seller: string | null;
  free: boolean | null;
  mostUnits: bigint | null;
  verifiedMin: number;
  sort: Sort;
}

export interface NaiveRow {
  id: number;
  merchant: string;
  priceUnits: bigint;
  tags: string[];
  aisle: Aisle;
  license: string | null;
  editedRevision: number;
  votes: number;
  sales: number;
  verifiedSales: number;
  pinned: boolean;
  text: NaiveWords;
}

interface Row extends NaiveText {
  id: number;
  price_units: bigint;
  tags: string[];
  aisle: Aisle;
  license: string | null;
  edited_act: number;
  votes: number;
  sales: number;
  verified_sales: number;
  pinned: boolean;
}

export async function readNaiveRows(database: Queryable): Promise<NaiveRow[]> {
  const rows = await database.rows<Row>(sql`
    select l.id::int4 as id, m.handle as merchant, l.price_units, l.tags, l.aisle, l.license, l.edited_act::int4 as edited_act, l.pinned,
      l.title, l.keywords, l.description, l.preview,
      (select count(*)::int4 from votes v where v.listing_id = l.id) as votes,
      (select count(*)::int4 from purchases p where p.listing_id = l.id) as sales,
      (select count(distinct p.payer)::int4 from purchases p where p.listing_id = l.id and p.paid_units > 0
        and p.payer not in (select o.seller_wallet from listings o where o.merchant_id = l.merchant_id)) as verified_sales
    from listings l join merchants m on m.id = l.merchant_id where l.state = 'live'`);
  return rows.map(({ price_units, edited_act, verified_sales, title, keywords, description, preview, ...row }) => {
    const text = wordsOfText({ ...row, title, keywords, description, preview });
    return { ...row, priceUnits: price_units, editedRevision: edited_act, verifiedSales: verified_sales, text };
  });
}

/** Returns the pinned listings in every state, because one that is restored later keeps its pin. */
async function readPinned(database: Queryable): Promise<Set<number>> {
  const rows = await database.rows<{ id: number }>(sql`select id::int4 as id from listings where pinned`);
  return new Set(rows.map(({ id }) => id));
}

/** The listings of a query as on its first page: the words, and how many of the wanted ones a listing needs. */
export interface NaiveShelf {
  query: NaiveQuery;
  search: NaiveSearch | null;
  least: number;
  pinned: ReadonlySet<number>;
}

export async function readNaiveShelf(database: Queryable, query: NaiveQuery): Promise<NaiveShelf> {
  const rows = await readNaiveRows(database);
  const pinned = await readPinned(database);
  if (query.need === null) return { query, search: null, least: 0, pinned };
  const texts = rows.map(({ text }) => text);
  const search = searchNaively(texts, query.need);
  const anyNumber = { query, search, least: search.required.length > 0 || search.wanted.length === 0 ? 0 : 1, pinned };
  if (query.sort === 'relevance') return anyNumber;
  const matching = rows.filter((row) => matchesNaively(row, anyNumber));
  return { ...anyNumber, least: Math.max(anyNumber.least, ...matching.map(({ text }) => coverageOf(search, text))) };
}

export function matchesNaively(row: NaiveRow, { query, search, least }: NaiveShelf): boolean {
  const { tag, aisle, license, seller, free, mostUnits, verifiedMin } = query;
  return (
    (search === null || meetsNaively(search, row.text, least)) &&
    (tag === null || row.tags.includes(tag)) &&
    (aisle === null || row.aisle === aisle) &&
    (license === null || row.license === license) &&
    (seller === null || row.merchant === seller) &&
    (free === null || (row.priceUnits === 0n) === free) &&
    (mostUnits === null || row.priceUnits <= mostUnits) &&
    row.verifiedSales >= verifiedMin
  );
}

/** Returns whether the words of the need are all there: by relevance in one of these listings, else in those of the first page. */
export function hasAllWords(matching: readonly NaiveRow[], { query, search, least }: NaiveShelf): boolean {
  if (search === null || search.missing.length > 0) return false;
  const count = search.wanted.length;
  if (query.sort !== 'relevance' && count > 0) return least === count && matching.length > 0;
  return matching.some(({ text }) => coverageOf(search, text) === count);
}

/** Verified sales in steps that double: 0, 1, 2 to 3, 4 to 7 and so on. */
function figureOf({ verifiedSales }: NaiveRow): number {
  return verifiedSales === 0 ? 0 : Math.min(15, verifiedSales.toString(2).length);
}

/** Sort keys of a row, the most important one first. Rows with the highest keys come first. */
export function keysOf(row: NaiveRow, { query, search }: NaiveShelf): number[] {
  const { sort } = query;
  if (sort === 'relevance' && search !== null) {
    const isTitle = search.isTitle(row.text);
    return [Number(isTitle), isTitle ? 0 : search.score(row.text), figureOf(row)];
  }
  if (sort === 'karma') return [row.votes];
  if (sort === 'sales') return [row.sales];
  if (sort === 'price_asc') return [-Number(row.priceUnits)];
  if (sort === 'price_desc') return [Number(row.priceUnits)];
  if (sort === 'new') return [];
  throw new Error(`no rule for the sort ${sort}`);
}

const LEADS_PINNED: Readonly<Record<NaiveQuery['sort'], boolean>> = {
  new: true,
  karma: true,
  sales: true,
  price_asc: false,
  price_desc: false,
  relevance: false,
};

/** Returns all sort keys of a row, with those that depend on age and on pins as of the first page. */
export function placeOf(row: NaiveRow, shelf: NaiveShelf): number[] {
  const leads = LEADS_PINNED[shelf.query.sort] && shelf.pinned.has(row.id);
  return [Number(leads), ...keysOf(row, shelf), row.id];
}

export function comparePlaces(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at < 0 ? 0 : (b[at] ?? 0) - (a[at] ?? 0);
}

export function sortNaively(rows: readonly NaiveRow[], shelf: NaiveShelf): NaiveRow[] {
  return rows
    .filter((row) => matchesNaively(row, shelf))
    .map((row) => ({ row, place: placeOf(row, shelf) }))
    .sort((a, b) => comparePlaces(a.place, b.place))
    .map(({ row }) => row);
}

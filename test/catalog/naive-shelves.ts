import sql from 'sql-template-tag';
import type { Aisle, Sort } from '../../src/contract/vocabulary.ts';
import { stemOf } from '../../src/market/catalog/text/stem.ts';
import { FIELD_WEIGHTS, rarityWeight, termLevel } from '../../src/market/catalog/text/term-levels.ts';
import { tokenize } from '../../src/market/catalog/text/tokenize.ts';
import type { Queryable } from '../../src/platform/database/database.ts';

/** A second implementation of the shelves, as simple as possible, with rows from the tables and loops over them. */

export interface NaiveTerm {
  kind: 'word' | 'beginning' | 'phrase';
  words: readonly string[];
  excluded: boolean;
}

export interface NaiveQuery {
  /** Search terms. Only the last may be a prefix. */
  terms: readonly NaiveTerm[] | null;
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
  /** Words of the title, each tag, the seller's name, the description and the preview, with their weights. */
  fields: { weight: number; words: string[] }[];
}

interface Row {
  id: number;
  merchant: string;
  price_units: bigint;
  tags: string[];
  aisle: Aisle;
  license: string | null;
  edited_act: number;
  votes: number;
  sales: number;
  verified_sales: number;
  pinned: boolean;
  title: string;
  description: string;
  preview: string;
}

export async function readNaiveRows(database: Queryable): Promise<NaiveRow[]> {
  const rows = await database.rows<Row>(sql`
    select l.id::int4 as id, m.handle as merchant, l.price_units, l.tags, l.aisle, l.license, l.edited_act::int4 as edited_act, l.pinned,
      l.title, l.description, l.preview,
      (select count(*)::int4 from votes v where v.listing_id = l.id) as votes,
      (select count(*)::int4 from purchases p where p.listing_id = l.id) as sales,
      (select count(distinct p.payer)::int4 from purchases p where p.listing_id = l.id and p.paid_units > 0
        and p.payer not in (select o.seller_wallet from listings o where o.merchant_id = l.merchant_id)) as verified_sales
    from listings l join merchants m on m.id = l.merchant_id where l.state = 'live'`);
  return rows.map(({ price_units, edited_act, verified_sales, title, description, preview, ...row }) => {
    const [titleWeight = 0, tagWeight = 0, sellerWeight = 0, descriptionWeight = 0, previewWeight = 0] = FIELD_WEIGHTS;
    const fields = [
      { weight: titleWeight, words: tokenize(title) },
      ...row.tags.map((tag) => ({ weight: tagWeight, words: tokenize(tag) })),
      { weight: sellerWeight, words: tokenize(row.merchant) },
      { weight: descriptionWeight, words: tokenize(description) },
      { weight: previewWeight, words: tokenize(preview) },
    ];
    return { ...row, priceUnits: price_units, editedRevision: edited_act, verifiedSales: verified_sales, fields };
  });
}

function hasTerm(row: NaiveRow, { kind, words }: NaiveTerm): boolean {
  const [first = ''] = words;
  const stem = stemOf(first);
  return row.fields.some(({ words: held }) => {
    if (kind === 'phrase') return held.some((_, at) => words.every((word, offset) => held[at + offset] === word));
    return held.some((word) => stemOf(word) === stem || (kind === 'beginning' && word.startsWith(first)));
  });
}

export function matchesNaively(row: NaiveRow, query: NaiveQuery): boolean {
  const { terms, tag, aisle, license, seller, free, mostUnits, verifiedMin } = query;
  return (
    (terms === null || (terms.length > 0 && terms.every((term) => hasTerm(row, term) !== term.excluded))) &&
    (tag === null || row.tags.includes(tag)) &&
    (aisle === null || row.aisle === aisle) &&
    (license === null || row.license === license) &&
    (seller === null || row.merchant === seller) &&
    (free === null || (row.priceUnits === 0n) === free) &&
    (mostUnits === null || row.priceUnits <= mostUnits) &&
    row.verifiedSales >= verifiedMin
  );
}

/** Scores a stem in a listing from the listing's text alone. */
function levelOfStem(row: NaiveRow, stem: string): number {
  let weighted = 0;
  let length = 0;
  for (const { weight, words } of row.fields) {
    length += words.length;
    weighted += weight * words.filter((word) => stemOf(word) === stem).length;
  }
  return weighted === 0 ? 0 : termLevel(weighted, length);
}

function levelOfBeginning(row: NaiveRow, beginning: string): number {
  const stems = new Set([stemOf(beginning)]);
  for (const { words } of row.fields) {
    for (const word of words) if (word.startsWith(beginning)) stems.add(stemOf(word));
  }
  return Math.max(...[...stems].map((stem) => levelOfStem(row, stem)));
}

/** Returns the weight of each query term over all live rows. A word that occurs twice counts once. */
export function weightsOf(rows: readonly NaiveRow[], terms: readonly NaiveTerm[]) {
  const parts = new Map<string, (row: NaiveRow) => number>();
  for (const { kind, words, excluded } of terms) {
    if (excluded) continue;
    const [first = ''] = words;
    if (kind === 'beginning') parts.set(`${first}*`, (row) => levelOfBeginning(row, first));
    else for (const word of words) parts.set(stemOf(word), (row) => levelOfStem(row, stemOf(word)));
  }
  return [...parts.values()].map((levelIn) => {
    const having = rows.filter((row) => levelIn(row) > 0).length;
    return { levelIn, weight: rarityWeight(rows.length, having) };
  });
}

export type Keys = (row: NaiveRow) => number;

/** Returns a function that computes the sort key of a row. Rows with the highest key come first. Word weights come from the given rows. */
export function keysOf(rows: readonly NaiveRow[], { sort, terms }: NaiveQuery): Keys {
  if (sort === 'karma') return (row) => row.votes;
  if (sort === 'sales') return (row) => row.sales;
  if (sort === 'price_asc') return (row) => -Number(row.priceUnits);
  if (sort === 'price_desc') return (row) => Number(row.priceUnits);
  if (sort === 'new') return () => 0;
  if (sort !== 'relevance') throw new Error(`no rule for the sort ${sort}`);
  const weights = weightsOf(rows, terms ?? []);
  return (row) => weights.reduce((score, { levelIn, weight }) => score + weight * levelIn(row), 0);
}

const LEADS_PINNED: Readonly<Record<NaiveQuery['sort'], boolean>> = {
  new: true,
  karma: true,
  sales: true,
  price_asc: false,
  price_desc: false,
  relevance: false,
};

/** Whether the maintainer's pins come first in this order. */
export function leadsPinned({ sort }: Pick<NaiveQuery, 'sort'>): boolean {
  return LEADS_PINNED[sort];
}

export function sortNaively(rows: readonly NaiveRow[], query: NaiveQuery): NaiveRow[] {
  const keyOf = keysOf(rows, query);
  const leads = (row: NaiveRow): number => Number(leadsPinned(query) && row.pinned);
  return rows
    .filter((row) => matchesNaively(row, query))
    .sort((a, b) => leads(b) - leads(a) || keyOf(b) - keyOf(a) || b.id - a.id);
}

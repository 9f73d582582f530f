import { html } from 'ghtml';
import { ATTRIBUTE_NAMES, ATTRIBUTES, type AttributeName } from '../../../contract/listing-fields.ts';
import { AISLE_WORDS, AISLES, type Aisle, LONGEST_NEED, SORT_NAMES } from '../../../contract/vocabulary.ts';
import { showNumber } from './render-text.ts';

/** Query of a shelves page, in short names. Empty values, which forms send, count as absent. */
export interface ShelfAddress extends Record<AttributeName, string> {
  aisle: Aisle | null;
  q: string;
  /** `all` to search for every word as typed. */
  match: string;
  sort: string;
  free: string;
  price: string;
  tag: string;
  cursor: string;
}

type ShelfQuery = Omit<ShelfAddress, 'aisle'>;

const QUERY_NAMES: readonly (keyof ShelfQuery)[] = [
  'q',
  'match',
  'sort',
  'free',
  'price',
  'tag',
  ...ATTRIBUTE_NAMES,
  'cursor',
];

export function readShelfAddress(aisle: Aisle | null, query: Readonly<Record<string, string>>): ShelfAddress {
  const readValue = (name: keyof ShelfQuery): string => (query[name] ?? '').trim();
  const q = readValue('q');
  const sort = readValue('sort');
  return {
    aisle: aisle ?? AISLES.find((one) => one === query['aisle']) ?? null,
    q,
    match: q === '' ? '' : readValue('match'),
    // A form may ask for relevance without words. Use the default order then.
    sort: sort === 'relevance' && q === '' ? '' : sort,
    free: readValue('free'),
    price: readValue('price').replace(',', '.'),
    tag: readValue('tag'),
    ...attributesIn(readValue),
    cursor: readValue('cursor'),
  };
}

function attributesIn(read: (name: AttributeName) => string): Record<AttributeName, string> {
  return Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, read(name)])) as Record<AttributeName, string>;
}

export function shelfPath({ aisle, ...others }: Partial<ShelfAddress>): string {
  const query = new URLSearchParams();
  for (const name of QUERY_NAMES) {
    const value = others[name] ?? '';
    if (value !== '') query.append(name, value);
  }
  const path = aisle === null || aisle === undefined ? '/shelves' : `/shelves/${aisle}`;
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/** Converts a page's address into the route's query. */
export function shelfQueryOf(address: ShelfAddress, limit: number): string {
  const { aisle, q, match, sort, free, price, tag, cursor } = address;
  const query = new URLSearchParams({ limit: String(limit) });
  const attributes = attributesIn((name) => address[name]);
  const parameters = { q, match, tag, aisle: aisle ?? '', free, max_price_usdc: price, sort, ...attributes, cursor };
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== '') query.append(name, value);
  }
  return query.toString();
}

const SORT_WORDS: readonly (readonly [value: string, name: string])[] = [
  ['', 'Newest, or best match'],
  ...Object.entries(SORT_NAMES),
];
const FREE_WORDS: readonly [value: string, name: string][] = [
  ['', 'Free or not'],
  ['true', 'Free'],
  ['false', 'Not free'],
];

export function renderSearch(address: ShelfAddress): string {
  const { q, sort, aisle, free, price, tag } = address;
  const isNarrowed = sort !== '' || free !== '' || price !== '' || ATTRIBUTE_NAMES.some((name) => address[name] !== '');
  return html`<form class="search" role="search" action="/shelves" method="get">
!${renderWords(q)}
<details!${isNarrowed ? ' open' : ''}>
<summary>Sort and narrow</summary>
<div class="narrow">
!${renderSelect('aisle', 'Aisle', aisle ?? '', [['', 'All aisles'], ...AISLES.map((one): [string, string] => [one, AISLE_WORDS[one].name])])}
!${renderSelect('sort', 'Order', sort, SORT_WORDS)}
!${renderSelect('free', 'Price', free, FREE_WORDS)}
<label>At most, in USDC <input type="text" name="price" value="${price}" inputmode="decimal" autocomplete="off" placeholder="10.00"></label>
!${ATTRIBUTE_NAMES.map((name) => html`<label>${ATTRIBUTES[name].label} <input type="text" name="${name}" value="${address[name]}" maxlength="${String(ATTRIBUTES[name].text.maxLength)}" autocomplete="off" placeholder="${ATTRIBUTES[name].example}"></label>`)}
</div>
</details>
!${tag === '' ? '' : html`<input type="hidden" name="tag" value="${tag}">`}
</form>`;
}

/** Renders only the search field, for pages that have nothing to filter. */
export function renderShortSearch(): string {
  return html`<form class="search" role="search" action="/shelves" method="get">
!${renderWords('')}
</form>`;
}

function renderWords(q: string): string {
  return html`<div class="words"><label for="q" class="heard">Search the shelves</label><input type="search" id="q" name="q" value="${q}" maxlength="${String(LONGEST_NEED)}" placeholder="Describe what you need" autocomplete="off" autocapitalize="none" spellcheck="false"><button class="main" type="submit">Search</button></div>`;
}

function renderSelect(
  name: string,
  label: string,
  chosen: string,
  options: readonly (readonly [value: string, name: string])[],
): string {
  return html`<label>${label} <select name="${name}">!${options.map(([value, text]) => html`<option value="${value}"!${value === chosen ? ' selected' : ''}>${text}</option>`)}</select></label>`;
}

/** Renders links to all aisles with their listing counts. `address` tells which aisle is current; null marks none. */
export function renderAisles(
  aisles: readonly { name: Aisle; count: number }[],
  address: ShelfAddress | null,
  all: number | null = null,
): string {
  const here = address?.aisle ?? null;
  const line = (aisle: Aisle | null, name: string, count: number): string => {
    const isHere = address !== null && aisle === here;
    return html`<li><a href="${shelfPath({ aisle })}"!${isHere ? ' aria-current="page"' : ''} class="of ${aisle ?? 'all'}">${name} <span class="count">${showNumber(count)}</span></a></li>`;
  };
  return html`<nav class="aisles" aria-label="Aisles"><ul>!${all === null ? '' : line(null, 'All', all)}!${aisles.map(({ name, count }) => line(name, AISLE_WORDS[name].name, count))}</ul></nav>`;
}

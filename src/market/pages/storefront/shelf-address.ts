import { ATTRIBUTE_NAMES, type AttributeName } from '../../../contract/listing-fields.ts';
import { AISLES, type Aisle } from '../../../contract/vocabulary.ts';

/** How shelves are asked for in an address of a page: short names, and whatever a form leaves empty is as if it was not there. */
export interface ShelfAddress extends Record<AttributeName, string> {
  aisle: Aisle | null;
  q: string;
  sort: string;
  free: string;
  price: string;
  tag: string;
  cursor: string;
}

type Written = Omit<ShelfAddress, 'aisle'>;

/** In the order in which addresses have them. */
const NAMES: readonly (keyof Written)[] = ['q', 'sort', 'free', 'price', 'tag', ...ATTRIBUTE_NAMES, 'cursor'];

export function readShelfAddress(aisle: Aisle | null, query: Readonly<Record<string, string>>): ShelfAddress {
  const read = (name: keyof Written): string => (query[name] ?? '').trim();
  const q = read('q');
  const sort = read('sort');
  return {
    aisle: aisle ?? AISLES.find((one) => one === query['aisle']) ?? null,
    q,
    // The form cannot know whether words will be typed.
    sort: sort === 'relevance' && q === '' ? '' : sort,
    free: read('free'),
    price: read('price').replace(',', '.'),
    tag: read('tag'),
    ...attributesIn(read),
    cursor: read('cursor'),
  };
}

export function attributesIn(read: (name: AttributeName) => string): Record<AttributeName, string> {
  return Object.fromEntries(ATTRIBUTE_NAMES.map((name) => [name, read(name)])) as Record<AttributeName, string>;
}

export function shelfPath({ aisle, ...others }: Partial<ShelfAddress>): string {
  const query = new URLSearchParams();
  for (const name of NAMES) {
    const value = others[name] ?? '';
    if (value !== '') query.append(name, value);
  }
  const path = aisle === null || aisle === undefined ? '/shelves' : `/shelves/${aisle}`;
  return query.size === 0 ? path : `${path}?${query.toString()}`;
}

/** The same as the route takes it. */
export function shelfQueryOf(address: ShelfAddress, limit: number): string {
  const { aisle, q, sort, free, price, tag, cursor } = address;
  const query = new URLSearchParams({ limit: String(limit) });
  const attributes = attributesIn((name) => address[name]);
  const given = { q, tag, aisle: aisle ?? '', free, max_price_usdc: price, sort, ...attributes, cursor };
  for (const [name, value] of Object.entries(given)) {
    if (value !== '') query.append(name, value);
  }
  return query.toString();
}

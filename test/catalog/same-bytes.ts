import { expect } from 'vitest';
import type { TestMarket } from '../support/market-context.ts';
import { askOrReason, fromMemory, type Said } from './ask.ts';
import { SELLERS } from './random-shelves.ts';

const FIXED = [
  '/api/shelves',
  '/api/shelves?limit=3',
  '/api/shelves?fields=outline',
  '/api/shelves?sort=karma&limit=5',
  '/api/shelves?sort=sales&limit=5',
  '/api/shelves?sort=price_asc&limit=5',
  '/api/shelves?sort=price_desc&limit=5',
  '/api/shelves?aisle=data&limit=4',
  '/api/shelves?tag=lamp',
  '/api/shelves?verified_sales_min=1',
  '/api/shelves?q=lamp',
  '/api/shelves?q=lampp%20',
  '/api/shelves?q=lampp%20&match=all',
  '/api/shelves?q=the%20lamp%20for%20a%20map&limit=3',
  '/api/shelves?q=front%20end%20%2Blamp%20altas',
  '/api/shelves?q=brass%20map%20atlas&sort=new',
  '/api/shelves?q=%22brass%20map%22',
  '/api/shelves?q=lamp%20-map&limit=2&sort=karma',
  '/api/merchants',
  '/api/merchants?limit=3&after_id=2',
  '/api/window',
  ...SELLERS.flatMap((handle) => [`/api/store/${handle}`, `/api/store/${handle}?limit=3`]),
];

const SHOWN = 160;

/** Shows where two answers first differ, without printing both. */
export function expectEqual(one: Said | null, other: Said | null, address: string): void {
  let at = 0;
  const [text, expected] = [one?.text ?? '', other?.text ?? ''];
  if (text !== expected) while (text[at] === expected[at]) at += 1;
  const from = Math.max(0, at - SHOWN / 2);
  const short = (said: Said | null, all: string) => ({
    address,
    etag: said?.etag,
    text: all.slice(from, from + SHOWN),
  });
  expect(short(one, text)).toEqual(short(other, expected));
}

/** Lets two copies follow all changes and expects the same bytes and tags from both, from memory and from the operation. */
export async function expectSame(one: TestMarket, other: TestMarket, addresses: readonly string[]): Promise<void> {
  for (const { catalog } of [one, other]) {
    await catalog.fresh();
    await catalog.searchable();
  }
  for (const address of addresses) {
    const expected = await askOrReason(other, address);
    expectEqual(await askOrReason(one, address), expected, address);
    for (const market of [one, other]) {
      const plain = fromMemory(market, address);
      if (plain !== null) expectEqual(plain, expected, address);
      const packed = fromMemory(market, address, true);
      if (packed !== null) expectEqual({ ...packed, etag: expected.etag }, expected, address);
    }
    expectEqual(fromMemory(one, address, true), fromMemory(other, address, true), address);
  }
}

/** Returns URLs of reads of every kind, including these listings. */
export function addressesOf(ids: readonly bigint[], more: readonly string[] = []): string[] {
  const details = [...ids.slice(-12), 999_999n].map((id) => `/api/listing/${id}`);
  return [...FIXED, ...more, ...details, `/api/store/${SELLERS[0]}?before_id=${ids[0]}`, '/api/store/no-such-merchant'];
}

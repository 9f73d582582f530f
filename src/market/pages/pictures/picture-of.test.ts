import { expect, it } from 'vitest';
import { HOSTILE_TEXTS } from '../../../../test/support/hostile-texts.ts';
import { readMarkup } from '../../../../test/support/read-markup.ts';
import type { ListingDetail } from '../../../contract/listings.ts';
import type { MerchantRecord } from '../../../contract/merchant-record.ts';
import { AISLES } from '../../../contract/vocabulary.ts';
import { composeCard, openFaces } from './compose-card.ts';
import { markColours, pictureOfListing, pictureOfStore } from './create-pictures.ts';
import { hexOfOklch } from './picture-question.ts';

const faces = openFaces();
const LIVE = {
  id: 12,
  aisle: 'data',
  title: 'Tide tables',
  price_usdc: 4,
  merchant: 'ink',
  state: 'live',
  removed: false,
};
const listing = (changed: object): ListingDetail => ({ ...LIVE, ...changed }) as ListingDetail;
const merchant = (changed: object): MerchantRecord =>
  ({ id: 3, handle: 'ink', store_line: '', ...changed }) as MerchantRecord;

/** Reads the texts of a picture, line by line. */
function linesOf(card: ReturnType<typeof pictureOfStore>): string[] {
  return [...composeCard(card, faces).matchAll(/<text [^>]*>(.*?)<\/text>/g)].map(
    ([, line = '']) => readMarkup(line).text,
  );
}

it('shows title, price, merchant and aisle of what is for sale', () => {
  expect(linesOf(pictureOfListing(listing({})))).toEqual(['Openaisle', 'Tide tables', '4.00 USDC', 'by ink · Data']);
  expect(linesOf(pictureOfListing(listing({ price_usdc: 0 })))[2]).toBe('Free');
  expect(linesOf(pictureOfListing(listing({ state: 'sold', aisle: 'world' })))[2]).toBe('Sold for 4.00 USDC');
});

it('shows no word of the merchant of what is off the market', () => {
  const off = [
    { state: 'removed', removed: true },
    { state: 'withdrawn' },
    { state: 'stale' },
    { state: 'sold', removed: true },
  ];
  for (const state of off) {
    const card = pictureOfListing(listing({ ...state, title: 'BAD WORDS', merchant: 'bad-name' }));
    expect(linesOf(card)).toEqual(['Openaisle', 'Listing 12', 'Data, no longer for sale']);
    expect(JSON.stringify(card)).not.toMatch(/bad/i);
  }
});

it('shows a store by its name and its line, which may be long, strange or missing', () => {
  expect(linesOf(pictureOfStore(merchant({})))).toEqual(['Openaisle', 'ink', 'A store at Openaisle']);
  expect(linesOf(pictureOfStore(merchant({ handle: '墨', store_line: '书' })))).toEqual([
    'Openaisle',
    'Merchant 3',
    'A store at Openaisle',
  ]);
  const long = linesOf(pictureOfStore(merchant({ store_line: 'many words '.repeat(30) })));
  expect(long).toHaveLength(5);
  expect(long[3]).toMatch(/…$/);
});

it('has no markup of others in it, whatever they wrote', () => {
  for (const text of HOSTILE_TEXTS) {
    for (const card of [
      pictureOfListing(listing({ title: text, merchant: text })),
      pictureOfStore(merchant({ handle: text, store_line: text })),
    ]) {
      const drawn = composeCard(card, faces);
      const names = new Set(readMarkup(drawn).tags.map(({ name }) => name));
      expect([text, [...names].sort()]).toEqual([text, ['path', 'rect', 'style', 'svg', 'text']]);
      expect(drawn.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
  }
});

it('has the colours of the pages, read from their stylesheet', () => {
  expect(hexOfOklch(1, 0, 0)).toBe('#ffffff');
  expect(hexOfOklch(0, 0, 0)).toBe('#000000');
  // Pure red, converted as in CSS Color 4.
  expect(hexOfOklch(0.62796, 0.25768, 29.234)).toBe('#ff0000');
  const names = [...AISLES, ...Array.from({ length: 12 }, (_, at) => `hue-${at}`)];
  expect(new Set(names.map((name) => markColours(name).a)).size).toBe(names.length);
});

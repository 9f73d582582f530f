import { expect, it } from 'vitest';
import { HOSTILE_TEXTS } from '../../../../test/support/hostile-texts.ts';
import { readMarkup } from '../../../../test/support/read-markup.ts';
import type { ListingDetail } from '../../../contract/listings.ts';
import { renderListingPreview, renderPreviewTags } from './render-preview-tags.ts';

const BASE = 'https://market.example';
const LIVE = {
  ...{ id: 12, aisle: 'data', title: 'Tide tables', description: 'For small harbours.\nChecked.', price_usdc: 4 },
  ...{ merchant: 'ink', state: 'live', removed: false },
};
const listing = (changed: object): ListingDetail => ({ ...LIVE, ...changed }) as ListingDetail;

/** Returns the content of a head's tags by name. */
function readTags(markup: string): Record<string, string> {
  return Object.fromEntries(
    readMarkup(markup).tags.map(({ attributes }) => [
      attributes.get('property') ?? attributes.get('name') ?? attributes.get('rel') ?? '',
      attributes.get('content') ?? attributes.get('href') ?? '',
    ]),
  );
}

it('names one address, a title, a text and a picture of a listing', () => {
  expect(readTags(renderListingPreview(listing({}), BASE))).toEqual({
    canonical: `${BASE}/listing/12`,
    description: '4.00 USDC, by ink. For small harbours. Checked.',
    'og:site_name': 'Openaisle',
    'og:type': 'product',
    'og:url': `${BASE}/listing/12`,
    'og:title': 'Tide tables',
    'og:description': '4.00 USDC, by ink. For small harbours. Checked.',
    'og:image': `${BASE}/pictures/listing/12.png`,
    'og:image:type': 'image/png',
    'og:image:width': '1200',
    'og:image:height': '630',
    'og:image:alt': 'The woven mark of listing 12',
    'twitter:card': 'summary_large_image',
  });
});

it('says nothing that its merchant wrote of what is off the market', () => {
  for (const state of [{ state: 'removed', removed: true }, { state: 'withdrawn' }, { state: 'sold', removed: true }]) {
    const markup = renderListingPreview(listing({ ...state, title: 'BAD', description: 'BAD', merchant: 'bad' }), BASE);
    expect(markup).not.toMatch(/bad/i);
    const summary = 'No longer for sale.';
    expect(readTags(markup)).toMatchObject({
      'og:title': 'Listing 12',
      'og:description': summary,
      description: summary,
    });
  }
});

it('is the same tags whatever the texts are, and short', () => {
  const names = readMarkup(renderListingPreview(listing({}), BASE)).tags.map(({ name }) => name);
  for (const text of [...HOSTILE_TEXTS, 'long '.repeat(1_000)]) {
    const markup = renderListingPreview(listing({ title: text, description: text }), BASE);
    expect([text, readMarkup(markup).tags.map(({ name }) => name)]).toEqual([text, names]);
    expect([...(readTags(markup)['og:description'] ?? '')].length).toBeLessThanOrEqual(201);
  }
});

it('does without a picture where there is none', () => {
  const tags = readTags(
    renderPreviewTags(BASE, { path: '/shelves', title: 'Shelves', summary: 'All', type: 'website' }),
  );
  expect(tags).toMatchObject({ 'twitter:card': 'summary' });
  expect(tags).not.toHaveProperty('og:image');
});

import { html } from 'ghtml';
import type { ListingDetail } from '../../../contract/listings.ts';
import type { MerchantRecord } from '../../../contract/merchant-record.ts';
import { LONGEST_TITLE, storePath } from '../storefront/render-rows.ts';
import { shortenToLine, showPrice } from '../storefront/render-text.ts';
import { CARD, isListingShown } from './picture-question.ts';

const LONGEST_SUMMARY = 200;

interface Preview {
  path: string;
  title: string;
  summary: string;
  type: 'website' | 'profile' | 'product';
  picture?: { path: string; says: string };
}

/** Renders the Open Graph tags that link previews need: canonical URL, title and picture. */
export function renderPreviewTags(baseUrl: string, { path, title, summary, type, picture }: Preview): string {
  const shown = shortenToLine(title, LONGEST_TITLE);
  const says = shortenToLine(summary, LONGEST_SUMMARY);
  return html`<link rel="canonical" href="${baseUrl}${path}">
<meta name="description" content="${says}">
<meta property="og:site_name" content="Openaisle">
<meta property="og:type" content="${type}">
<meta property="og:url" content="${baseUrl}${path}">
<meta property="og:title" content="${shown}">
<meta property="og:description" content="${says}">
!${
    picture === undefined
      ? html`<meta name="twitter:card" content="summary">`
      : html`<meta property="og:image" content="${baseUrl}${picture.path}">
<meta property="og:image:type" content="image/png">
<meta property="og:image:width" content="${CARD.width}">
<meta property="og:image:height" content="${CARD.height}">
<meta property="og:image:alt" content="${picture.says}">
<meta name="twitter:card" content="summary_large_image">`
  }`;
}

/** Shows none of the merchant's texts once the goods are off the market. */
export function renderListingPreview(listing: ListingDetail, baseUrl: string): string {
  const { id, title, description, price_usdc, merchant } = listing;
  const isOpen = isListingShown(listing);
  const name = `Listing ${id}`;
  return renderPreviewTags(baseUrl, {
    path: `/listing/${id}`,
    title: isOpen ? title : name,
    summary: isOpen ? `${showPrice(price_usdc)}, by ${merchant}. ${description}` : 'No longer for sale.',
    type: 'product',
    picture: { path: `/pictures/listing/${id}.png`, says: `The woven mark of ${name.toLowerCase()}` },
  });
}

export function renderStorePreview({ handle, store_line }: MerchantRecord, baseUrl: string): string {
  return renderPreviewTags(baseUrl, {
    path: storePath(handle),
    title: `${handle}, a store at Openaisle`,
    summary: store_line === '' ? 'What this merchant has for sale.' : store_line,
    type: 'profile',
    picture: {
      path: `/pictures/store/${encodeURIComponent(handle)}.png`,
      says: `The woven mark of ${shortenToLine(handle, LONGEST_TITLE)}`,
    },
  });
}

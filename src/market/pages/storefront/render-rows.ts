import { html } from 'ghtml';
import type { ListingSummary } from '../../../contract/listings.ts';
import type { MerchantRecord } from '../../../contract/merchant-record.ts';
import { AISLE_WORDS } from '../../../contract/vocabulary.ts';
import { drawMark } from '../pictures/draw-mark.ts';
import { renderAge, renderLine, renderShortNote, shortenToLine, showCount, showPrice } from './render-text.ts';

const LONGEST_DESCRIPTION = 160;
/** Maximum length of a title that the market accepts. */
export const LONGEST_TITLE = 120;

/** Renders the mark of the maintainer's handle, or nothing for other merchants. */
export function renderMark({ maintainer }: { maintainer?: boolean | undefined }): string {
  return maintainer === true ? ' <span class="verified">Maintainer</span>' : '';
}

export function storePath(handle: string): string {
  return `/store/${encodeURIComponent(handle)}`;
}

export function renderListings(listings: readonly ListingSummary[], nowMs: number): string {
  return html`<ol class="rows">!${listings.map((listing) => renderListing(listing, nowMs))}</ol>`;
}

function renderListing(listing: ListingSummary, nowMs: number): string {
  const { id, title, merchant, aisle, price_usdc, verified_sales, created_at, text_flags, pinned, description } =
    listing;
  return html`<li class="row-of-goods">
!${drawMark({ listing: id, aisle }, 'small')}
<div class="what">
<a class="title" href="/listing/${id}">!${renderLine(shortenToLine(title, LONGEST_TITLE))}</a>
<p class="line">!${renderLine(shortenToLine(description, LONGEST_DESCRIPTION))}</p>
<p class="meta"><a href="${storePath(merchant)}"><bdi>${merchant}</bdi></a>!${renderMark(listing)} <span>${AISLE_WORDS[aisle].name}</span> !${verified_sales > 0 ? html`<span>${showCount(verified_sales, 'verified sale')}</span> ` : ''}<span>!${renderAge(created_at, nowMs)}</span>!${pinned ? ' <span>Pinned</span>' : ''}!${text_flags.length > 0 ? ' <span class="flagged">Flagged text</span>' : ''}!${renderShortNote(listing.title_note)}</p>
</div>
<p class="price">${showPrice(price_usdc)}</p>
</li>`;
}

export function renderMerchants(merchants: readonly MerchantRecord[], nowMs: number): string {
  return html`<ol class="rows">!${merchants.map((merchant) => renderMerchant(merchant, nowMs))}</ol>`;
}

function renderMerchant(merchant: MerchantRecord, nowMs: number): string {
  const { id, handle, store_line, listings, sales, joined_at } = merchant;
  return html`<li class="row-of-goods">
!${drawMark({ merchant: id }, 'small')}
<div class="what">
<a class="title" href="${storePath(handle)}"><bdi>${handle}</bdi></a>
<p class="line">!${store_line === '' ? html`<span class="quiet">No store line yet</span>` : renderLine(store_line)}</p>
<p class="meta"><span>Joined !${renderAge(joined_at, nowMs)}</span>!${renderMark(merchant)}!${renderShortNote(merchant.store_line_note)}</p>
</div>
<p class="price">${showCount(listings, 'listing')} <span class="quiet">${showCount(sales, 'sale')}</span></p>
</li>`;
}

export function renderPaging(next: { path: string; name: string } | null, first: string | null): string {
  if (next === null && first === null) return '';
  return html`<nav class="paging" aria-label="More of this list">!${first === null ? '' : html`<a class="button" href="${first}">From the start</a>`}!${next === null ? '' : html`<a class="button" rel="next" href="${next.path}">${next.name}</a>`}</nav>`;
}

export function renderEmpty(text: string, link: { path: string; name: string }): string {
  return html`<p class="empty">${text} <a href="${link.path}">${link.name}</a>.</p>`;
}

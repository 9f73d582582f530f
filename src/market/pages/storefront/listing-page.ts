import { html } from 'ghtml';
import type { ListingDetail } from '../../../contract/listings.ts';
import { AISLE_WORDS } from '../../../contract/vocabulary.ts';
import { drawMark } from '../marks/draw-mark.ts';
import { renderListingPreview } from '../pictures/render-preview-tags.ts';
import { SHELL } from '../shell/assets.ts';
import { renderHowToBuy } from './how-to-buy.ts';
import type { PagePlan, Scene, Shown } from './page-plan.ts';
import { type ListingAnswer, renderComments } from './render-comments.ts';
import { renderEvidence, renderTags } from './render-evidence.ts';
import { storePath } from './render-rows.ts';
import { renderState } from './render-state.ts';
import { renderFlags, renderLine, renderWritten, seen } from './render-written.ts';
import { renderAge, showPrice } from './show-facts.ts';

/** Of the longest prose, these and the listing come to less than 30 KB as they are sent. */
const COMMENTS_PAGE = 15;

export function planListing(id: string, commentsAfter: string): PagePlan {
  const query = `comments_limit=${COMMENTS_PAGE}${commentsAfter === '' ? '' : `&comments_after_id=${encodeURIComponent(commentsAfter)}`}`;
  return {
    route: '/listing/:id',
    key: `/listing/${id}?${query}`,
    request: { route: 'GET /api/listing/:id', params: { id }, query },
    show: (answer, scene) => showListing(JSON.parse(answer) as ListingAnswer, commentsAfter !== '', scene),
    back: { path: '/shelves', name: 'All shelves' },
  };
}

function showListing(answer: ListingAnswer, isLater: boolean, { config, nowMs }: Scene): Shown {
  const { listing } = answer;
  const { id, title } = listing;
  return {
    title: `${seen(title)} - Openaisle`,
    head: html`<link rel="alternate" type="application/json" href="/api/listing/${id}">
!${renderListingPreview(listing, config.baseUrl)}`,
    scripts: listing.state === 'live' ? [SHELL.copying.path] : [],
    main: html`<div class="goods">
!${renderHeading(listing, nowMs)}
<div class="column">
!${renderState(listing)}
!${renderTexts(listing)}
!${renderHowToBuy(listing, config)}
!${renderEvidence(listing, config)}
!${renderComments(answer, isLater, nowMs)}
</div>
</div>`,
  };
}

function renderHeading(listing: ListingDetail, nowMs: number): string {
  const { id, title, price_usdc, merchant, aisle, created_at } = listing;
  return html`<div class="heading">!${drawMark({ listing: id, aisle }, 'large')}<div>
<h1>!${renderLine(title)}</h1>
<p class="offer"><strong class="price">${showPrice(price_usdc)}</strong> <span>by <a href="${storePath(merchant)}"><bdi>${merchant}</bdi></a></span> <span class="standing ${listing.state}">${standingOf(listing)}</span></p>
<p class="meta"><span>Listing ${id}</span> <a href="/shelves/${aisle}">${AISLE_WORDS[aisle].name}</a> <span>!${renderAge(created_at, nowMs)}</span></p>
!${renderTags(listing.tags)}
</div></div>
!${renderNewer(listing)}`;
}

function standingOf({ state, removed }: ListingDetail): string {
  if (state === 'live') return 'For sale';
  // What is sold may have been removed as well; its state says that it is sold.
  return removed && state !== 'sold' ? 'Removed' : `${state.charAt(0).toUpperCase()}${state.slice(1)}`;
}

function renderNewer({ superseded_by: newer }: ListingDetail): string {
  if (newer === null) return '';
  return html`<div class="notice"><p>There is a newer version: <a href="/listing/${newer}">listing ${newer}</a>.</p></div>`;
}

function renderTexts({ description, preview, text_flags }: ListingDetail): string {
  return html`!${renderFlags(text_flags)}
<section aria-labelledby="about">
<h2 id="about">What it is</h2>
!${renderWritten(description)}
</section>
!${
    preview === ''
      ? ''
      : html`<section aria-labelledby="preview">
<h2 id="preview">Preview</h2>
<div class="preview">!${renderWritten(preview)}</div>
</section>`
  }`;
}

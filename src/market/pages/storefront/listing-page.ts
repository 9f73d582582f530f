import { html } from 'ghtml';
import type { ListingDetail } from '../../../contract/listings.ts';
import { AISLE_WORDS } from '../../../contract/vocabulary.ts';
import { drawMark } from '../pictures/draw-mark.ts';
import { renderListingPreview } from '../pictures/render-preview-tags.ts';
import { SHELL } from '../shell/assets.ts';
import { renderHowToBuy } from './how-to-buy.ts';
import type { PagePlan, Scene, Shown } from './page-plan.ts';
import { type ListingAnswer, renderComments, renderEvidence, renderKeywords, renderTags } from './render-listing.ts';
import { renderMark, storePath } from './render-rows.ts';
import {
  capitalize,
  cleanText,
  renderAge,
  renderDay,
  renderFlags,
  renderLine,
  renderNote,
  renderUserText,
  showPrice,
} from './render-text.ts';

/** Even with the longest texts, a page with this many comments is sent in less than 30 KB. */
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
    title: `${cleanText(title)} - Openaisle`,
    head: html`<link rel="alternate" type="application/json" href="/api/listing/${id}">
!${renderListingPreview(listing, config.baseUrl)}`,
    scripts: listing.state === 'live' ? [SHELL.copying.path] : [],
    main: html`<div class="goods">
!${renderHeading(listing, nowMs)}
<div class="column">
!${renderRemoval(listing)}!${renderWithdrawal(listing)}!${renderEnd(listing)}!${renderAppeal(listing)}
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
!${renderNote(listing.title_note, 'title')}
<p class="offer"><strong class="price">${showPrice(price_usdc)}</strong> <span>by <a href="${storePath(merchant)}"><bdi>${merchant}</bdi></a>!${renderMark(listing)}</span> <span class="standing ${listing.state}">${stateLabelOf(listing)}</span></p>
<p class="meta"><span>Listing ${id}</span> <a href="/shelves/${aisle}">${AISLE_WORDS[aisle].name}</a> <span>!${renderAge(created_at, nowMs)}</span></p>
!${renderTags(listing.tags)}!${renderKeywords(listing.keywords)}
</div></div>
!${renderNewer(listing)}`;
}

function stateLabelOf({ state, removed }: ListingDetail): string {
  if (state === 'live') return 'For sale';
  // Sold goods may have been removed as well; their state stays sold.
  return removed && state !== 'sold' ? 'Removed' : capitalize(state);
}

function renderNewer({ superseded_by: newer }: ListingDetail): string {
  if (newer === null) return '';
  return html`<div class="notice"><p>There is a newer version: <a href="/listing/${newer}">listing ${newer}</a>.</p></div>`;
}

function renderTexts({ description, preview, text_flags }: ListingDetail): string {
  return html`!${renderFlags(text_flags)}
!${
    // A removed listing has no texts.
    description === ''
      ? ''
      : html`<section aria-labelledby="about">
<h2 id="about">What it is</h2>
!${renderUserText(description)}
</section>`
  }
!${
    preview === ''
      ? ''
      : html`<section aria-labelledby="preview">
<h2 id="preview">Preview</h2>
<div class="preview">!${renderUserText(preview)}</div>
</section>`
  }`;
}

function renderRemoval({ removed, removed_at, removed_reason, removed_reason_code }: ListingDetail): string {
  if (!removed) return '';
  const code = removed_reason_code === null ? '' : ` (${removed_reason_code.replaceAll('_', ' ')})`;
  return html`<div class="notice danger">
<h2>Why it was removed</h2>
<p>It is not for sale any more!${removed_at === null ? '' : html`, since !${renderDay(removed_at)}`}${code}. Who bought it before keeps what they bought. All removals are <a href="/moderation">listed</a>. The maintainer says:</p>
!${removed_reason === null ? '' : renderUserText(removed_reason)}
</div>`;
}

function renderWithdrawal({ withdrawn, withdrawn_at, withdrawn_reason }: ListingDetail): string {
  if (!withdrawn) return '';
  return html`<div class="notice warn">
<h2>Withdrawn by its merchant</h2>
<p>It is not for sale any more!${withdrawn_at === null ? '' : html`, since !${renderDay(withdrawn_at)}`}. Who bought it before keeps what they bought.</p>
!${withdrawn_reason === null || withdrawn_reason === '' ? '' : renderUserText(withdrawn_reason)}
</div>`;
}

function renderEnd({ state, world_receipt: receipt }: ListingDetail): string {
  if (state === 'sold') {
    return html`<div class="notice good">
<h2>Sold</h2>
<p>There was one of it, and it has changed hands!${receipt === null ? '' : html`, on !${renderDay(receipt.claimed_at)} to <bdi>${receipt.city_handle}</bdi>`}.</p>
!${receipt === null ? '' : html`<p>Transaction <code>${receipt.tx_hash}</code></p>`}
</div>`;
  }
  if (state === 'canceled') return renderNotice('Canceled', 'Its seller has taken the offer back in the city.');
  if (state === 'stale') return renderNotice('Lapsed', 'The city does not know this offer any more.');
  return '';
}

function renderNotice(title: string, text: string): string {
  return html`<div class="notice warn">
<h2>${title}</h2>
<p>${text} It is not for sale any more.</p>
</div>`;
}

function renderAppeal({ appeal }: ListingDetail): string {
  if (appeal === null) return '';
  const { statement, created_at, outcome, outcome_reason, decided_at } = appeal;
  const decided = outcome === 'restored' ? 'The listing was brought back' : 'The removal was upheld';
  return html`<section class="appeal" aria-labelledby="appeal">
<h2 id="appeal">Appeal</h2>
<p>Its merchant appealed on !${renderDay(created_at)}:</p>
!${statement === '' ? html`<p class="quiet">Emptied by the maintainer.</p>` : renderUserText(statement)}
!${outcome === null ? html`<p>It is not decided yet.</p>` : html`<p>${decided}!${decided_at === null ? '' : html` on !${renderDay(decided_at)}`}:</p>`}
!${outcome_reason === null ? '' : renderUserText(outcome_reason)}
</section>`;
}

import { html } from 'ghtml';
import type { ResultOf } from '../../../contract/endpoint.ts';
import type { CommentOut } from '../../../contract/feedback.ts';
import type { Endpoints } from '../../../contract/index.ts';
import { ATTRIBUTE_NAMES, ATTRIBUTES } from '../../../contract/listing-fields.ts';
import type { ListingDetail } from '../../../contract/listings.ts';
import type { MarketConfig } from '../../context.ts';
import { renderMark, renderPaging, storePath } from './render-rows.ts';
import { shelfPath } from './render-search.ts';
import {
  cleanText,
  renderAge,
  renderDay,
  renderFlags,
  renderLine,
  renderUserText,
  showCount,
  showNumber,
} from './render-text.ts';

export function renderEvidence(listing: ListingDetail, config: MarketConfig): string {
  return html`<section aria-labelledby="evidence">
<h2 id="evidence">Evidence</h2>
<dl class="facts">
!${factsOf(listing, config).map(([name, value]) => html`<dt>${name}</dt><dd>!${value}</dd>`)}
</dl>
</section>`;
}

function factsOf(listing: ListingDetail, config: MarketConfig): [name: string, html: string][] {
  const { id, sales, verified_sales, votes, votes_by_buyers = 0, created_at, seller_wallet } = listing;
  return [
    ...artifactFacts(listing),
    ...thingFacts(listing),
    ...attributeFacts(listing),
    ['Versions', renderVersions(listing)],
    [
      'Sales',
      html`${showNumber(sales)}, and ${showNumber(verified_sales)} verified: paid from wallets other than the seller's`,
    ],
    [
      'Votes',
      html`${showNumber(votes)}, and ${showNumber(votes_by_buyers)} of them by buyers; a vote needs no purchase`,
    ],
    ['Listed', renderDay(created_at)],
    ['History', html`<a href="/events?listing_id=${id}">All that happened to it</a>`],
    ['Paid to', renderWallet(seller_wallet, config.explorerUrl)],
    ['As data', html`<a href="/api/listing/${id}">/api/listing/${id}</a>`],
  ];
}

function artifactFacts(listing: ListingDetail): [string, string][] {
  const { artifact_commitment: commitment, artifact_bytes: size, artifact_media_type: type } = listing;
  if (commitment === null) return [];
  return [
    [
      'Commitment',
      html`<code>${commitment}</code><br><span class="quiet">SHA-256 over a salt and the goods; the salt comes with them.</span>`,
    ],
    ['Size', size === null ? '' : `${showNumber(size)} bytes`],
    ...(type === null ? [] : ([['Type', html`<code>${cleanText(type)}</code>`]] as [string, string][])),
  ];
}

function attributeFacts(listing: ListingDetail): [string, string][] {
  return ATTRIBUTE_NAMES.flatMap((name): [string, string][] => {
    const value = listing[name];
    if (value === null) return [];
    const path = shelfPath({ [name]: value });
    return [[ATTRIBUTES[name].label, html`<a href="${path}"><code>${cleanText(value)}</code></a>`]];
  });
}

function thingFacts(listing: ListingDetail): [string, string][] {
  const { world_asset_id: thing, world_asset_url, city_offer_url, world_seller_handle: seller } = listing;
  if (thing === null) return [];
  return [
    ['Thing', renderPlace(`number ${thing}`, world_asset_url)],
    [
      'Offer in the city',
      renderPlace(listing.world_offer_id === null ? 'none' : `number ${listing.world_offer_id}`, city_offer_url),
    ],
    ...(seller === null ? [] : ([['Sold by', html`resident <bdi>${seller}</bdi>`]] as [string, string][])),
  ];
}

/** Links http and https addresses only. Other addresses are shown as text. */
function renderPlace(name: string, url: string | null): string {
  if (url === null) return html`${name}`;
  return /^https?:\/\//.test(url)
    ? html`<a href="${url}" rel="nofollow noopener">${name}</a>`
    : html`${name}, ${cleanText(url)}`;
}

function renderVersions({ supersedes, superseded_by: newer }: ListingDetail): string {
  const words = [
    ...(supersedes === null
      ? []
      : [html`takes the place of <a href="/listing/${supersedes}">listing ${supersedes}</a>`]),
    ...(newer === null ? [] : [html`<a href="/listing/${newer}">listing ${newer}</a> takes its place`]),
  ];
  return words.length === 0 ? 'This is the only one' : words.join('; ');
}

function renderWallet(wallet: string, explorerUrl: string | null): string {
  const address = html`<code>${wallet}</code>`;
  if (explorerUrl === null) return address;
  return html`<a href="${explorerUrl}/address/${wallet}" rel="noopener">!${address}</a>`;
}

export function renderTags(tags: readonly string[]): string {
  if (tags.length === 0) return '';
  return html`<ul class="tags" aria-label="Tags">!${tags.map((tag) => html`<li><a href="/shelves?tag=${encodeURIComponent(tag)}">!${renderLine(tag)}</a></li>`)}</ul>`;
}

export function renderKeywords(keywords: readonly string[]): string {
  if (keywords.length === 0) return '';
  return html`<ul class="tags keywords" aria-label="Keywords">!${keywords.map((keyword) => html`<li>!${renderLine(keyword)}</li>`)}</ul>`;
}

export type ListingAnswer = ResultOf<Endpoints['getListing']>['body'];

export function renderComments(answer: ListingAnswer, isLater: boolean, nowMs: number): string {
  const { comments, comments_total: total, comments_next_after_id: next, listing } = answer;
  const path = `/listing/${listing.id}`;
  const more = next === null ? null : { path: `${path}?comments_after_id=${next}#comments`, name: 'More comments' };
  return html`<section id="comments" aria-labelledby="comments-name">
<h2 id="comments-name">${total === 0 ? 'Comments' : showCount(total, 'comment')}</h2>
!${
    total === 0
      ? html`<p class="quiet">There are no comments yet.</p>`
      : html`<ol class="comments">!${comments.map((comment) => renderComment(comment, nowMs))}</ol>`
  }
!${renderPaging(more, isLater ? `${path}#comments` : null)}
</section>`;
}

function renderComment(comment: CommentOut, nowMs: number): string {
  const { id, handle, parent_id: parent, verified_buyer, created_at, removed, text_flags } = comment;
  return html`<li id="comment-${id}"!${parent === null ? '' : ' class="reply"'}>
<p class="meta"><a href="${storePath(handle)}"><bdi>${handle}</bdi></a>!${renderMark(comment)}!${verified_buyer ? ' <span class="verified">Verified buyer</span>' : ''} <span>!${renderAge(created_at, nowMs)}</span>!${parent === null ? '' : html` <a href="#comment-${parent}">in reply</a>`}</p>
!${removed ? html`<p class="quiet">Removed by the maintainer${reasonOf(comment)}.</p>` : renderUserText(comment.body)}
!${removed ? '' : renderFlags(text_flags)}
</li>`;
}

function reasonOf({ removed_reason_code: code }: CommentOut): string {
  return code === null ? '' : `: ${code.replaceAll('_', ' ')}`;
}

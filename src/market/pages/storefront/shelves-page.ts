import { html } from 'ghtml';
import { describeSearch, searchedNeed } from '../../../contract/describe-search.ts';
import type { ResultOf } from '../../../contract/endpoint.ts';
import type { Endpoints } from '../../../contract/index.ts';
import { ATTRIBUTE_NAMES, ATTRIBUTES } from '../../../contract/listing-fields.ts';
import type { ListingSummary } from '../../../contract/listings.ts';
import { AISLE_WORDS } from '../../../contract/vocabulary.ts';
import { isoTime } from '../../../platform/clock.ts';
import { renderPreviewTags } from '../pictures/render-preview-tags.ts';
import { SHELL } from '../shell/assets.ts';
import type { PagePlan, Scene, Shown } from './page-plan.ts';
import { renderEmpty, renderListings, renderPaging } from './render-rows.ts';
import { renderAisles, renderSearch, type ShelfAddress, shelfPath, shelfQueryOf } from './render-search.ts';
import { cleanText, shortenToLine, showCount, showNumber, showPrice } from './render-text.ts';

const PAGE = 30;

type Shelves = ResultOf<Endpoints['browseShelves']>['body'];

export function planShelves(address: ShelfAddress, route: string): PagePlan {
  const query = shelfQueryOf(address, PAGE);
  return {
    route,
    key: shelfPath(address),
    request: { route: 'GET /api/shelves', query },
    // The search field fetches suggestions as the user types.
    connects: true,
    show: (answer, scene) => showShelves(address, JSON.parse(answer) as Shelves, scene),
    again: () => renderSearch({ ...address, cursor: '' }),
    back: { path: shelfPath({ aisle: address.aisle }), name: 'These shelves from the start' },
  };
}

function showShelves(address: ShelfAddress, shelves: Shelves, { config, nowMs }: Scene): Shown {
  const { aisles, total, next_cursor: next } = shelves;
  const listings = shelves.listings as ListingSummary[];
  const { aisle, cursor } = address;
  const name = aisle === null ? 'Shelves' : AISLE_WORDS[aisle].name;
  const all = aisles.reduce((sum, { count }) => sum + count, 0);
  return {
    title: `${name} - Openaisle`,
    path: '/shelves',
    head: html`!${FEED_HEAD}
!${isUnfiltered(address) ? renderPreviewTags(config.baseUrl, { path: shelfPath(address), title: `${name} at Openaisle`, summary: `${showCount(total, 'listing')} for sale${aisle === null ? '' : `: ${AISLE_WORDS[aisle].holds}`}.`, type: 'website' }) : ''}`,
    scripts: [SHELL.suggest.path],
    main: html`<div class="wide">
<h1>${name}</h1>
<p class="summary">!${describeCount(address, total)}</p>
!${renderSearch(address)}
!${renderAisles(aisles, address, all)}
!${renderSearched(address, shelves)}
!${listings.length > 0 ? renderListings(listings, nowMs) : renderNothing(address, shelves)}
!${renderPaging(
      next === null ? null : { path: shelfPath({ ...address, cursor: next }), name: 'Older' },
      cursor === '' ? null : shelfPath({ ...address, cursor: '' }),
    )}
</div>`,
  };
}

/** Whether the address has no search, filter, order or cursor. */
function isUnfiltered({ aisle: _, ...others }: ShelfAddress): boolean {
  return Object.values(others).every((part) => part === '');
}

function describeCount(address: ShelfAddress, total: number): string {
  const { q, match, aisle, free, price, tag } = address;
  const count = showCount(total, 'listing');
  const parts = [
    ...(q === '' ? [] : [html` ${match === 'all' ? 'with every word of' : 'for'} !${quoteText(q)}`]),
    ...(tag === '' ? [] : [html` with the tag <bdi>${cleanText(tag)}</bdi>`]),
    ...(free === 'true' ? [' that are free'] : free === 'false' ? [' that are not free'] : []),
    ...(price === '' ? [] : [html` up to ${price} USDC`]),
    ...ATTRIBUTE_NAMES.filter((name) => address[name] !== '').map(
      (name) => html` with the ${ATTRIBUTES[name].label.toLowerCase()} <bdi>${cleanText(address[name])}</bdi>`,
    ),
  ];
  const holds = aisle === null ? '' : html`: ${AISLE_WORDS[aisle].holds}`;
  if (parts.length > 0) return html`<strong>${count}</strong>!${parts.join('')}.`;
  return html`<strong>${showNumber(total)}</strong> ${total === 1 ? 'listing' : 'listings'}!${holds}.`;
}

function quoteText(text: string): string {
  return html`<q><bdi>${cleanText(text)}</bdi></q>`;
}

/** Says how the results differ from what was typed. */
function renderSearched(address: ShelfAddress, shelves: Shelves): string {
  const said = describeSearch(shelves, quoteText);
  if (said === null || shelves.search === null) return '';
  const path = shelfPath({ ...address, match: 'all', cursor: '' });
  const link = searchedNeed(shelves.search).isCorrected ? html` <a href="${path}">Search exactly as typed</a>.` : '';
  return html`<p class="searched">!${said}!${link}</p>`;
}

function renderNothing(address: ShelfAddress, { did_you_mean: near }: Shelves): string {
  if (near !== null) {
    const path = shelfPath({ ...address, q: near, match: '', cursor: '' });
    return html`<p class="empty">Nothing is called that. Did you mean <a href="${path}"><bdi>${cleanText(near)}</bdi></a>?</p>`;
  }
  if (address.match === 'all') {
    const path = shelfPath({ ...address, match: '', cursor: '' });
    return renderEmpty('Nothing here has every word as typed.', { path, name: 'Search for any of them' });
  }
  const isNarrowed = !isUnfiltered({ ...address, sort: '', cursor: '' });
  return isNarrowed
    ? renderEmpty('Nothing here fits.', { path: shelfPath({ aisle: address.aisle }), name: 'Show all of it' })
    : renderEmpty('Nothing lies here yet.', { path: '/shelves', name: 'Go to all shelves' });
}

const FEED_PATH = '/feed.atom';
const ENTRIES = 50;
const LONGEST_SUMMARY = 500;
const EMPTY_AT = 0;

export const FEED_HEAD = html`<link rel="alternate" type="application/atom+xml" title="New listings" href="${FEED_PATH}">`;

/** Plans the Atom feed of new listings (RFC 4287). */
export function planFeed(): PagePlan {
  const query = `limit=${ENTRIES}&sort=new`;
  return {
    route: FEED_PATH,
    key: FEED_PATH,
    request: { route: 'GET /api/shelves', query },
    document: {
      type: 'application/atom+xml; charset=utf-8',
      write: (answer, scene) => writeFeed((JSON.parse(answer) as { listings: ListingSummary[] }).listings, scene),
    },
    show: () => ({ title: 'New listings', main: '' }),
    back: { path: '/shelves', name: 'All shelves' },
  };
}

function writeFeed(listings: readonly ListingSummary[], { config: { baseUrl } }: Scene): string {
  // Shelves put pinned listings first, but a feed is ordered by time alone.
  const byTime = listings.toSorted((one, other) => other.created_at.localeCompare(one.created_at) || other.id - one.id);
  const updated = byTime[0]?.created_at ?? isoTime(EMPTY_AT);
  return html`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<id>${baseUrl}${FEED_PATH}</id>
<title>Openaisle: new listings</title>
<updated>${updated}</updated>
<author><name>Openaisle</name></author>
<icon>${baseUrl}/favicon.ico</icon>
<link rel="self" type="application/atom+xml" href="${baseUrl}${FEED_PATH}"/>
<link rel="alternate" type="text/html" href="${baseUrl}/shelves"/>
!${byTime.map((listing) => writeEntry(listing, baseUrl))}</feed>
`;
}

function writeEntry(listing: ListingSummary, baseUrl: string): string {
  const { id, title, merchant, created_at, price_usdc, description, aisle } = listing;
  return html`<entry>
<id>${baseUrl}/listing/${id}</id>
<title type="text">${cleanText(title)}</title>
<updated>${created_at}</updated>
<published>${created_at}</published>
<author><name>${merchant}</name><uri>${baseUrl}/store/${merchant}</uri></author>
<category term="${aisle}"/>
<link rel="alternate" type="text/html" href="${baseUrl}/listing/${id}"/>
<summary type="text">${showPrice(price_usdc)}. ${shortenToLine(description, LONGEST_SUMMARY)}</summary>
</entry>
`;
}

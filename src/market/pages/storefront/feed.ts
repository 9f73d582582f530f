import { html } from 'ghtml';
import type { ListingSummary } from '../../../contract/listings.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { PagePlan, Scene } from './page-plan.ts';
import { beginningOf, seen } from './render-written.ts';
import { showPrice } from './show-facts.ts';

const FEED_PATH = '/feed.atom';
const ENTRIES = 50;
const LONGEST_SUMMARY = 500;
const EMPTY_AT = 0;

export const FEED_HEAD = html`<link rel="alternate" type="application/atom+xml" title="New listings" href="${FEED_PATH}">`;

/** New listings, for programs that look from time to time (RFC 4287). */
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
  // Pinned ones stand first on the shelves; a feed goes by time alone.
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
<title type="text">${seen(title)}</title>
<updated>${created_at}</updated>
<published>${created_at}</published>
<author><name>${merchant}</name><uri>${baseUrl}/store/${merchant}</uri></author>
<category term="${aisle}"/>
<link rel="alternate" type="text/html" href="${baseUrl}/listing/${id}"/>
<summary type="text">${showPrice(price_usdc)}. ${beginningOf(description, LONGEST_SUMMARY)}</summary>
</entry>
`;
}

import { html } from 'ghtml';
import type { ResultOf } from '../../../contract/endpoint.ts';
import type { Endpoints } from '../../../contract/index.ts';
import type { ListingSummary } from '../../../contract/listings.ts';
import type { MerchantRecord } from '../../../contract/merchant-record.ts';
import { AISLE_WORDS, SCOPE_KINDS } from '../../../contract/vocabulary.ts';
import type { EventRecord } from '../../events/read-events.ts';
import { STREAM_PATH } from '../../events/stream/mount-event-stream.ts';
import { SHELL } from '../shell/assets.ts';
import type { PagePlan, Scene, Shown } from '../storefront/page-plan.ts';
import { LONGEST_TITLE, renderMark, storePath } from '../storefront/render-rows.ts';
import { renderAisles } from '../storefront/render-search.ts';
import { renderAge, renderLine, shortenToLine, showCount, showNumber, showPrice } from '../storefront/render-text.ts';
import { renderEvent, SCRIPT_WORDS } from './event-words.ts';

const PATH = '/window';
/** Initial and maximum number of rows of each list. */
const ROWS = {
  events: { first: 30, most: 100 },
  listings: { first: 12, most: 12 },
  merchants: { first: 10, most: 10 },
};

type WindowAnswer = ResultOf<Endpoints['getWindow']>['body'];

/** Plans the page of live activity. Its script continues after the newest event on the page. */
export function planWindow(): PagePlan {
  return {
    route: PATH,
    key: PATH,
    request: { route: 'GET /api/window' },
    connects: true,
    show: (answer, scene) => showWindow(JSON.parse(answer) as WindowAnswer, scene),
    back: { path: '/shelves', name: 'All shelves' },
  };
}

function showWindow({ events, listings, merchants, aisles }: WindowAnswer, { maintainer, nowMs }: Scene): Shown {
  const newcomers = newcomersOf(merchants, events.items);
  return {
    title: 'Window - Openaisle',
    path: PATH,
    styles: [SHELL.live.path],
    scripts: [SHELL.liveUpdates.path],
    head: html`<link rel="alternate" type="application/json" href="/api/window">
<link rel="alternate" type="text/event-stream" href="${STREAM_PATH}?scope=window">`,
    main: html`<div class="wide window">
<h1>Window</h1>
<p class="summary">What happens in this market, and what has just come in.</p>
!${renderBar(scriptData(events.items[0]?.id ?? 0, maintainer))}
!${renderAisles(aisles.items, null, listings.total)}
<div class="panes" id="panes">
<section aria-labelledby="happened">
!${renderHead('happened', 'Happened', events.total, { path: '/events?scope=window', name: 'The whole log' })}
!${renderEmptyHint(events.total, html`Nothing has happened yet.`)}
<ol class="happened" id="event-rows">!${events.items.slice(0, ROWS.events.first).map((event) => renderEventRow(event, maintainer, nowMs))}</ol>
</section>
<div class="beside">
<section aria-labelledby="on-shelves">
!${renderHead('on-shelves', 'For sale', listings.total, { path: '/shelves', name: 'All shelves' })}
!${renderEmptyHint(listings.total, html`Nothing is for sale yet. <a href="/join">Open a store</a>.`)}
<ol class="on-shelves" id="listing-rows">!${(listings.items as ListingSummary[]).slice(0, ROWS.listings.first).map((listing) => renderOnShelf(listing, nowMs))}</ol>
</section>
<section aria-labelledby="newcomers">
!${renderHead('newcomers', 'Merchants', merchants.total, { path: '/merchants', name: 'All merchants' })}
!${renderEmptyHint(newcomers.length, merchants.total === 0 ? html`There are no stores yet. <a href="/join">Open the first</a>.` : html`No new stores of late.`)}
<ol class="newcomers" id="merchant-rows">!${newcomers.slice(0, ROWS.merchants.first).map((merchant) => renderNewcomer(merchant, maintainer, nowMs))}</ol>
</section>
</div>
</div>
</div>`,
  };
}

/** Renders the status bar, whose text the script replaces with the state of the live updates. */
function renderBar(scriptJson: string): string {
  return html`<div class="live-bar" id="live" data-live="${scriptJson}">
<p class="live-state" id="live-state" role="status">One moment of the market. Load the page again for what is new.</p>
<p class="live-ways"><button type="button" id="live-news" hidden>Show new</button> <button type="button" id="live-pause" hidden>Pause</button></p>
<p class="heard" id="live-heard" role="status"></p>
</div>`;
}

function renderHead(id: string, name: string, total: number, link: { path: string; name: string }): string {
  return html`<div class="pane-head"><h2 id="${id}" tabindex="-1">${name} <span class="count" id="${id}-total">${showNumber(total)}</span></h2><a href="${link.path}">${link.name}</a></div>`;
}

/** Renders the hint of an empty list. The script shows and hides it. */
function renderEmptyHint(rows: number, text: string): string {
  return html`<p class="empty"!${rows > 0 ? ' hidden' : ''}>!${text}</p>`;
}

/** Returns the script's data. Only the maintainer's handle in it was written by a merchant. */
function scriptData(last: number, maintainer: string | null): string {
  return JSON.stringify({
    last,
    maintainer,
    stream: STREAM_PATH,
    kinds: SCOPE_KINDS.window,
    words: SCRIPT_WORDS,
    aisles: Object.fromEntries(Object.entries(AISLE_WORDS).map(([aisle, { name }]) => [aisle, name])),
    most: { events: ROWS.events.most, listings: ROWS.listings.most, merchants: ROWS.merchants.most },
  });
}

/** Renders an event row. live-updates.js renders the same row, so change both together. */
function renderEventRow(event: EventRecord, maintainer: string | null, nowMs: number): string {
  return html`<li id="event-${event.id}"><span class="said">!${renderEvent(event, maintainer)}</span> !${renderAge(event.at, nowMs)}</li>`;
}

function renderOnShelf(listing: ListingSummary, nowMs: number): string {
  const { id, title, price_usdc, merchant, aisle, sales, created_at } = listing;
  return html`<li id="listing-${id}" class="${aisle}"><a class="title" href="/listing/${id}">!${renderLine(shortenToLine(title, LONGEST_TITLE))}</a> <span class="meta"><span class="price">${showPrice(price_usdc)}</span> <a href="${storePath(merchant)}"><bdi>${merchant}</bdi></a>!${renderMark(listing)} <span>${AISLE_WORDS[aisle].name}</span> !${renderPart('sold', sales > 0 ? showCount(sales, 'sale') : '')} !${renderPart('flagged', flagsOf(listing))} <span>!${renderAge(created_at, nowMs)}</span></span>!${renderPart('ended', '')}</li>`;
}

function flagsOf({ text_flags: flags, title_note: note }: ListingSummary): string {
  return [...(flags.length > 0 ? ['Flagged text'] : []), ...(note === undefined ? [] : ['Look-alike letters'])].join(
    ', ',
  );
}

/** Renders the element even if it is empty, so that the script can fill it. */
function renderPart(name: string, text: string): string {
  return html`<span class="${name}"!${text === '' ? ' hidden' : ''}>${text}</span>`;
}

type Newcomer = Pick<MerchantRecord, 'handle' | 'joined_at'>;

function renderNewcomer({ handle, joined_at }: Newcomer, maintainer: string | null, nowMs: number): string {
  return html`<li id="merchant-${handle}"><a href="${storePath(handle)}"><bdi>${handle}</bdi></a>!${renderMark({ maintainer: handle === maintainer })} !${renderAge(joined_at, nowMs)}</li>`;
}

/** Returns the newest merchants first. `merchants` contains the oldest ones, so unless it is complete, the newest come from events. */
export function newcomersOf(
  merchants: { items: readonly MerchantRecord[]; total: number },
  events: readonly EventRecord[],
): Newcomer[] {
  if (merchants.items.length === merchants.total) return merchants.items.toReversed();
  return events.filter(({ kind }) => kind === 'register').map(({ actor, at }) => ({ handle: actor, joined_at: at }));
}

import { html } from 'ghtml';
import type { ListingSummary, MerchantRecord } from '../../../contract/listings.ts';
import { AISLE_WORDS } from '../../../contract/vocabulary.ts';
import type { EventRecord } from '../../events/read-event-page.ts';
import { storePath } from '../storefront/render-rows.ts';
import { beginningOf, renderLine } from '../storefront/render-written.ts';
import { renderAge, showCount, showPrice } from '../storefront/show-facts.ts';
import { sayEvent } from './event-words.ts';

/** No title that the market takes is longer. */
const LONGEST_TITLE = 120;

/** The script of the window writes the same rows: what changes here changes there. */
export function renderHappened(event: EventRecord, nowMs: number): string {
  return html`<li id="event-${event.id}"><span class="said">!${sayEvent(event)}</span> !${renderAge(event.at, nowMs)}</li>`;
}

export function renderOnShelf(listing: ListingSummary, nowMs: number): string {
  const { id, title, price_usdc, merchant, aisle, sales, created_at, text_flags } = listing;
  return html`<li id="listing-${id}" class="${aisle}"><a class="title" href="/listing/${id}">!${renderLine(beginningOf(title, LONGEST_TITLE))}</a> <span class="meta"><span class="price">${showPrice(price_usdc)}</span> <a href="${storePath(merchant)}"><bdi>${merchant}</bdi></a> <span>${AISLE_WORDS[aisle].name}</span> !${renderPart('sold', sales > 0 ? showCount(sales, 'sale') : '')} !${renderPart('flagged', text_flags.length > 0 ? 'Flagged text' : '')} <span>!${renderAge(created_at, nowMs)}</span></span>!${renderPart('ended', '')}</li>`;
}

/** Where the script finds it, also while there is nothing to say. */
function renderPart(name: string, text: string): string {
  return html`<span class="${name}"!${text === '' ? ' hidden' : ''}>${text}</span>`;
}

type Newcomer = Pick<MerchantRecord, 'handle' | 'joined_at'>;

export function renderNewcomer({ handle, joined_at }: Newcomer, nowMs: number): string {
  return html`<li id="merchant-${handle}"><a href="${storePath(handle)}"><bdi>${handle}</bdi></a> !${renderAge(joined_at, nowMs)}</li>`;
}

/**
 * Who came last, newest first. The window lists the oldest ones, so beyond its size only the events tell of newcomers.
 */
export function newcomersOf(
  merchants: { items: readonly MerchantRecord[]; total: number },
  events: readonly EventRecord[],
): Newcomer[] {
  if (merchants.items.length === merchants.total) return merchants.items.toReversed();
  return events.filter(({ kind }) => kind === 'register').map(({ actor, at }) => ({ handle: actor, joined_at: at }));
}

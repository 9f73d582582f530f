import { html } from 'ghtml';
import { storePath } from '../../storefront/render-rows.ts';
import { renderLine, renderWritten } from '../../storefront/render-written.ts';
import { renderDay } from '../../storefront/show-facts.ts';
import type { ShownAppeal, ShownComment, ShownRemoval } from './read-moderation.ts';

/** One removal with all that was said about it. */
export function renderRemoval(removal: ShownRemoval): string {
  const { listing_id: id, title, merchant, reason_code, reason, removed_at, restored_at, appeal } = removal;
  const standing = restored_at === null ? { name: 'Removed', is: 'removed' } : { name: 'Restored', is: 'live' };
  return html`<li>
<h3><a href="/listing/${id}">!${title === null ? html`Listing ${id}` : renderLine(title)}</a> <span class="standing ${standing.is}">${standing.name}</span></h3>
<p class="meta"><span>!${title === null ? 'By' : html`Listing ${id} by`} <a href="${storePath(merchant)}"><bdi>${merchant}</bdi></a></span> <span>removed on !${renderDay(removed_at)}</span>!${restored_at === null ? '' : html` <span>restored on !${renderDay(restored_at)}</span>`} <span>reason: ${wordsOf(reason_code)}</span></p>
!${reason === null ? '' : html`<div class="said-of"><p class="meta">The maintainer says</p>!${renderWritten(reason)}</div>`}
!${appeal === null ? html`<p class="quiet">Nobody has appealed.</p>` : renderAppeal(appeal)}
</li>`;
}

function renderAppeal({ statement, created_at, outcome, outcome_reason, decided_at }: ShownAppeal): string {
  const decision = outcome === 'restored' ? 'Granted: the listing was restored' : 'Refused: the removal stands';
  return html`<div class="said-of"><p class="meta">Its merchant appealed on !${renderDay(created_at)}</p>
!${statement === null ? html`<p class="quiet">The words of this appeal are not shown any more: the listing was removed again later, and shows those of its last removal.</p>` : renderWritten(statement)}</div>
!${
    outcome === null
      ? html`<p class="quiet">The appeal is not decided yet.</p>`
      : html`<div class="said-of"><p class="meta">${decision}!${decided_at === null ? '' : html`, on !${renderDay(decided_at)}`}</p>
!${outcome_reason === null ? '' : renderWritten(outcome_reason)}</div>`
  }`;
}

/** Its words are gone; what is left is where it stood, who wrote it, and why it was emptied. */
export function renderRemovedComment({
  comment_id: id,
  listing_id,
  author,
  reason_code,
  removed_at,
}: ShownComment): string {
  const by = author === null ? '' : html` by <a href="${storePath(author)}"><bdi>${author}</bdi></a>`;
  return html`<li>
<h3><span>Comment ${id} on <a href="/listing/${listing_id}#comments">listing ${listing_id}</a></span></h3>
<p class="meta"><span>Written!${by}</span> <span>emptied on !${renderDay(removed_at)}</span> <span>reason: ${wordsOf(reason_code)}</span></p>
</li>`;
}

function wordsOf(code: string): string {
  return code.replaceAll('_', ' ');
}

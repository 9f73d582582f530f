import { html } from 'ghtml';
import type { ListingDetail } from '../../../contract/listings.ts';
import { renderWritten } from './render-written.ts';
import { renderDay } from './show-facts.ts';

/** Why something is not for sale: what happened, what is said about it, where to go on. Nothing for what is for sale. */
export function renderState(listing: ListingDetail): string {
  return [renderRemoval(listing), renderWithdrawal(listing), renderEnd(listing), renderAppeal(listing)].join('');
}

function renderRemoval({ removed, removed_at, removed_reason, removed_reason_code }: ListingDetail): string {
  if (!removed) return '';
  const code = removed_reason_code === null ? '' : ` (${removed_reason_code.replaceAll('_', ' ')})`;
  return html`<div class="notice danger">
<h2>Why it was removed</h2>
<p>It is not for sale any more!${removed_at === null ? '' : html`, since !${renderDay(removed_at)}`}${code}. Who bought it before keeps what they bought. All removals are <a href="/moderation">listed</a>. The maintainer says:</p>
!${removed_reason === null ? '' : renderWritten(removed_reason)}
</div>`;
}

function renderWithdrawal({ withdrawn, withdrawn_at, withdrawn_reason }: ListingDetail): string {
  if (!withdrawn) return '';
  return html`<div class="notice warn">
<h2>Withdrawn by its merchant</h2>
<p>It is not for sale any more!${withdrawn_at === null ? '' : html`, since !${renderDay(withdrawn_at)}`}. Who bought it before keeps what they bought.</p>
!${withdrawn_reason === null || withdrawn_reason === '' ? '' : renderWritten(withdrawn_reason)}
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
  if (state === 'canceled') return notice('Canceled', 'Its seller has taken the offer back in the city.');
  if (state === 'stale') return notice('Lapsed', 'The city does not know this offer any more.');
  return '';
}

function notice(title: string, text: string): string {
  return html`<div class="notice warn">
<h2>${title}</h2>
<p>${text} It is not for sale any more.</p>
</div>`;
}

/** In public, as it was said and decided. */
function renderAppeal({ appeal }: ListingDetail): string {
  if (appeal === null) return '';
  const { statement, created_at, outcome, outcome_reason, decided_at } = appeal;
  const decided = outcome === 'restored' ? 'The listing was brought back' : 'The removal was upheld';
  return html`<section class="appeal" aria-labelledby="appeal">
<h2 id="appeal">Appeal</h2>
<p>Its merchant appealed on !${renderDay(created_at)}:</p>
!${renderWritten(statement)}
!${outcome === null ? html`<p>It is not decided yet.</p>` : html`<p>${decided}!${decided_at === null ? '' : html` on !${renderDay(decided_at)}`}:</p>`}
!${outcome_reason === null ? '' : renderWritten(outcome_reason)}
</section>`;
}

import { html } from 'ghtml';
import { renderPaging, storePath } from '../storefront/render-rows.ts';
import { renderLine } from '../storefront/render-written.ts';
import { showCount, showPrice } from '../storefront/show-facts.ts';
import type { FeeOut, TreasuryBody } from './treasury-body.ts';

/** Of a transaction's 64 digits; the rest is behind the link and in the text that is copied. */
const DIGITS = 10;
const LAST_DIGITS = 6;

/** Fee by fee, newest first. */
export function renderFees(body: TreasuryBody, explorerUrl: string | null, isLater: boolean): string {
  const { recent_fees: fees, fees_count: count, fees_next_before_id: next } = body;
  if (fees.length === 0) {
    return html`<p class="empty">No fee has been paid yet. <a href="/help">How selling works</a>.</p>`;
  }
  return html`<p class="quiet">Numbers ${fees[0]?.id ?? 0} to ${fees.at(-1)?.id ?? 0} of ${showCount(count, 'fee')}. They are numbered without a gap, and none is ever changed.</p>
<ol class="rows fees">
!${fees.map((fee) => renderFee(fee, explorerUrl))}</ol>
!${renderPaging(next === null ? null : { path: `/treasury?before_id=${next}`, name: 'Older fees' }, isLater ? '/treasury' : null)}`;
}

function renderFee(fee: FeeOut, explorerUrl: string | null): string {
  const { id, merchant, amount_usdc, listing_id, verified_via, block_time, tx_hash } = fee;
  return html`<li class="fee">
<p class="what"><a href="${storePath(merchant)}">!${renderLine(merchant)}</a> !${
    listing_id === null
      ? html`<span class="quiet">a credit, for a listing to come</span>`
      : html`for <a href="/listing/${listing_id}">listing ${listing_id}</a>`
  }</p>
<p class="price">${showPrice(amount_usdc)}</p>
<p class="meta"><span class="number">Fee ${id}</span> <span><time datetime="${block_time}" title="${block_time}">${block_time.slice(0, 10)} ${block_time.slice(11, 16)} UTC</time></span> <span>${VERIFIED[verified_via]}</span> <span>!${renderTransaction(tx_hash, explorerUrl)}</span></p>
</li>
`;
}

const VERIFIED: Readonly<Record<FeeOut['verified_via'], string>> = {
  x402: 'by authorization (x402)',
  direct: 'by a transfer, claimed',
};

function renderTransaction(hash: string, explorerUrl: string | null): string {
  const short = html`<code title="${hash}">${hash.slice(0, DIGITS)}…${hash.slice(-LAST_DIGITS)}</code>`;
  if (explorerUrl === null) return html`<code>${hash}</code>`;
  return html`<a href="${explorerUrl}/tx/${hash}" rel="noopener">transaction !${short}</a>`;
}

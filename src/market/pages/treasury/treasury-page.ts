import { html } from 'ghtml';
import { LISTING_FEE_UNITS } from '../../../contract/vocabulary.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { MarketConfig } from '../../context.ts';
import { SHELL } from '../shell/assets.ts';
import type { Shown } from '../storefront/page-plan.ts';
import { showNumber } from '../storefront/show-facts.ts';
import type { KeptSums } from './keep-sums.ts';
import { renderBalance } from './render-balance.ts';
import { renderFeesByMerchant, renderFeesOverTime, renderSales } from './render-charts.ts';
import { renderFees } from './render-fees.ts';
import { showUnits } from './show-money.ts';
import type { FeeSums, SalesOfAisle } from './store.ts';
import type { TreasuryBody } from './treasury-body.ts';

export interface BookSums {
  fees: FeeSums;
  sales: SalesOfAisle[];
  /** Of the maintainer. */
  freeListings: bigint;
}

/** The books, as people read them: what came in, whether it is there, and what it came from. */
export function showTreasury(body: TreasuryBody, kept: KeptSums<BookSums>, config: MarketConfig): Shown {
  const { sums, countedAtMs } = kept;
  const counted = isoTime(countedAtMs);
  return {
    ...page('Treasury'),
    main: html`<div class="books">
<h1>Treasury</h1>
<p class="summary">A listing costs ${showUnits(LISTING_FEE_UNITS)}, paid by its merchant to one address. These are all of its books.</p>
!${renderBalance(body, config)}
!${renderFeesOverTime(sums.fees, countedAtMs)}
!${renderFeesByMerchant(sums.fees)}
!${renderSales(sums.sales)}
<p class="quiet">Counted <time datetime="${counted}" title="${counted}">${counted.slice(0, 10)} at ${counted.slice(11, 19)} UTC</time>. !${sayFree(sums.freeListings)}</p>
<section aria-labelledby="fees">
<h2 id="fees">Every fee</h2>
!${renderFees(body, config.explorerUrl, false)}
</section>
!${renderAsData(config)}
</div>`,
  };
}

/** Further back in the list, where the sums have been read already. */
export function showOlderFees(body: TreasuryBody, config: MarketConfig): Shown {
  return {
    ...page('Older fees'),
    main: html`<div class="books">
<h1>Older fees</h1>
<p class="summary">Of the <a href="/treasury">treasury</a>.</p>
!${renderFees(body, config.explorerUrl, true)}
</div>`,
  };
}

function page(name: string): Pick<Shown, 'title' | 'path' | 'styles' | 'scripts'> {
  return { title: `${name} - Openaisle`, path: '/treasury', styles: [SHELL.books.path], scripts: [SHELL.copying.path] };
}

function sayFree(listings: bigint): string {
  if (listings === 0n) return 'The maintainer lists without a fee; there is no such listing yet.';
  return html`The maintainer lists without a fee: ${showNumber(Number(listings))} ${listings === 1n ? 'listing' : 'listings'} so far, counted in no fee here.`;
}

function renderAsData({ baseUrl }: MarketConfig): string {
  return html`<section aria-labelledby="data">
<h2 id="data">As data</h2>
<p>The same address answers programs in JSON, and <a href="/openapi.json">openapi.json</a> says what is in it. Over MCP it is the tool <code>treasury</code>.</p>
<div class="shown"><code class="key copied" id="as-data">curl -H 'accept: application/json' ${baseUrl}/treasury</code>
<div class="row"><button type="button" data-copy="as-data" hidden>Copy</button></div></div>
</section>`;
}

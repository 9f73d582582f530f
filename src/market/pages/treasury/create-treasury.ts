import { html } from 'ghtml';
import type { ResultOf } from '../../../contract/endpoint.ts';
import type { Problem } from '../../../contract/errors.ts';
import type { Endpoints } from '../../../contract/index.ts';
import { unitsOfUsdc } from '../../../contract/money.ts';
import { describeNetwork, LISTING_FEE_UNITS, PAYMENT_WAYS } from '../../../contract/vocabulary.ts';
import { type Clock, isoTime } from '../../../platform/clock.ts';
import { cacheAnswer } from '../../../platform/http/cache-answer.ts';
import { type Incoming, type Outgoing, readQuery } from '../../../platform/http/message.ts';
import type { InternalRequests, RepresentationHandler } from '../../../platform/http/server-options.ts';
import type { Market, MarketConfig, Merchant } from '../../context.ts';
import { chooseForm, HTML_HEADERS } from '../answer-document.ts';
import { answerRefusedPage } from '../refusals.ts';
import { SHELL } from '../shell/assets.ts';
import { renderShell } from '../shell/render-shell.ts';
import type { Shown } from '../storefront/page-plan.ts';
import { renderPaging, storePath } from '../storefront/render-rows.ts';
import { renderLine, showCount, showNumber, showPrice } from '../storefront/render-text.ts';
import { renderFeesByMerchant, renderFeesOverTime, renderSales, TOP_MERCHANTS } from './render-charts.ts';
import { countFreeListings, type FeeSums, type SalesOfAisle, sumFees, sumSales } from './store.ts';
import { showUnits } from './time-bars.ts';

/** Half of the page size for programs, because people read a page to its end. */
const ROWS = 25;
const BACK = {
  back: { path: '/treasury', name: 'The treasury' },
  again: (problem: Problem): string =>
    problem.do_not_pay_again === true ? html`<p>If you have paid, do not pay again.</p>` : '',
};

/** Serves the treasury as a page, at the address where programs get JSON. */
export function createTreasuryPage(
  market: Pick<Market, 'clock' | 'config' | 'database'>,
  inside: InternalRequests<Merchant>,
): RepresentationHandler {
  const { clock, config, database } = market;
  const readSums = cacheSums(clock, async (): Promise<BookSums> => {
    // Run the queries one after another, so that counting takes only one connection.
    const fees = await sumFees(database, TOP_MERCHANTS);
    const sales = await sumSales(database);
    return { fees, sales, freeListings: await countFreeListings(database) };
  });

  async function renderBody(body: TreasuryBody, isLater: boolean): Promise<string> {
    return renderShell(isLater ? showOlderFees(body, config) : showTreasury(body, await readSums(), config));
  }

  return async (incoming: Incoming): Promise<Outgoing | null> => {
    if (chooseForm(incoming.headers.accept) !== 'html') return null;
    const query = pageQuery(incoming.target.query);
    const answer = await inside.ask({ route: 'GET /treasury', query }, incoming);
    if (answer.status !== 200 || typeof answer.body !== 'string') return answerRefusedPage(answer, BACK);
    const isLater = readQuery(query)['before_id'] !== undefined;
    let text: string;
    try {
      text = await renderBody(JSON.parse(answer.body) as TreasuryBody, isLater);
    } catch (error) {
      return answerRefusedPage(inside.refuse(error, incoming), BACK);
    }
    const ifNoneMatch = incoming.headers['if-none-match'];
    return cacheAnswer({ status: 200, headers: HTML_HEADERS, body: text }, 'public', ifNoneMatch);
  };
}

function pageQuery(query: string): string {
  if (readQuery(query)['limit'] !== undefined) return query;
  return query === '' ? `limit=${ROWS}` : `${query}&limit=${ROWS}`;
}

interface BookSums {
  fees: FeeSums;
  sales: SalesOfAisle[];
  /** Number of listings of the maintainer, who pays no fee. */
  freeListings: bigint;
}

function showTreasury(body: TreasuryBody, cached: CachedSums<BookSums>, config: MarketConfig): Shown {
  const { sums, countedAtMs } = cached;
  const counted = isoTime(countedAtMs);
  return {
    ...pageFrame('Treasury'),
    main: html`<div class="books">
<h1>Treasury</h1>
<p class="summary">A listing costs ${showUnits(LISTING_FEE_UNITS)}, paid by its merchant to one address. These are all of its books.</p>
!${renderBalance(body, config)}
!${renderFeesOverTime(sums.fees, countedAtMs)}
!${renderFeesByMerchant(sums.fees)}
!${renderSales(sums.sales)}
<p class="quiet">Counted <time datetime="${counted}" title="${counted}">${counted.slice(0, 10)} at ${counted.slice(11, 19)} UTC</time>. !${renderFreeListings(sums.freeListings)}</p>
<section aria-labelledby="fees">
<h2 id="fees">Every fee</h2>
!${renderFees(body, config.explorerUrl, false)}
</section>
!${renderAsData(config)}
</div>`,
  };
}

function showOlderFees(body: TreasuryBody, config: MarketConfig): Shown {
  return {
    ...pageFrame('Older fees'),
    main: html`<div class="books">
<h1>Older fees</h1>
<p class="summary">Of the <a href="/treasury">treasury</a>.</p>
!${renderFees(body, config.explorerUrl, true)}
</div>`,
  };
}

function pageFrame(name: string): Pick<Shown, 'title' | 'path' | 'styles' | 'scripts'> {
  return { title: `${name} - Openaisle`, path: '/treasury', styles: [SHELL.books.path], scripts: [SHELL.copying.path] };
}

function renderFreeListings(listings: bigint): string {
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

/** Number of leading characters shown of a transaction hash. The link and the tooltip have the full hash. */
const FIRST_DIGITS = 10;
const LAST_DIGITS = 6;

function renderFees(body: TreasuryBody, explorerUrl: string | null, isLater: boolean): string {
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
<p class="meta"><span class="number">Fee ${id}</span> <span><time datetime="${block_time}" title="${block_time}">${block_time.slice(0, 10)} ${block_time.slice(11, 16)} UTC</time></span> <span>${PAYMENT_WAYS[verified_via]}</span> <span>!${renderTransaction(tx_hash, explorerUrl)}</span></p>
</li>
`;
}

function renderTransaction(hash: string, explorerUrl: string | null): string {
  const short = html`<code title="${hash}">${hash.slice(0, FIRST_DIGITS)}…${hash.slice(-LAST_DIGITS)}</code>`;
  if (explorerUrl === null) return html`<code>${hash}</code>`;
  return html`<a href="${explorerUrl}/tx/${hash}" rel="noopener">transaction !${short}</a>`;
}

function renderBalance(body: TreasuryBody, { explorerUrl, network }: MarketConfig): string {
  const { address, fees_count, fees_collected_usdc, usdc_balance_onchain: balance } = body;
  const collected = unitsOfUsdc(fees_collected_usdc) ?? 0n;
  const onChain = balance === null ? null : (unitsOfUsdc(balance) ?? 0n);
  return html`<section aria-labelledby="balance">
<h2 id="balance">Books and chain</h2>
<dl class="facts">
<dt>Address</dt><dd><code id="address">${address}</code> <span class="row"><button type="button" data-copy="address" hidden>Copy</button>!${explorerUrl === null ? '' : html`<a class="button" href="${explorerUrl}/address/${address}" rel="noopener">Look at it on the explorer</a>`}</span></dd>
<dt>Network</dt><dd>${describeNetwork(network)}</dd>
<dt>In the books</dt><dd><strong>${showUnits(collected)}</strong> from ${showNumber(fees_count)} ${fees_count === 1 ? 'fee' : 'fees'}</dd>
<dt>On the chain</dt><dd>!${onChain === null ? 'Not known at the moment' : html`<strong>${showUnits(onChain)}</strong>, at most some seconds old`}</dd>
</dl>
<p id="said" class="heard" role="status"></p>
!${renderAgreement(collected, onChain)}
</section>`;
}

function renderAgreement(collected: bigint, onChain: bigint | null): string {
  if (onChain === null) {
    return renderNotice(
      'warn',
      'The chain does not answer just now, so they cannot be compared. The books do not depend on it: each fee below was proven when it was taken in.',
    );
  }
  if (onChain === collected)
    return renderNotice('good', 'They agree: the address holds exactly what the books have taken in.');
  if (onChain > collected) {
    return renderNotice(
      '',
      `The address holds ${showUnits(onChain - collected)} more than the books have taken in. Anybody can send money to it; what pays for no listing is in no book. A fee is taken in when its payment is final, so one that was just paid is not there yet.`,
    );
  }
  return renderNotice(
    '',
    `The address holds ${showUnits(collected - onChain)} less than the books have taken in: so much was moved on from it. The books say what came in, and the chain where it went.`,
  );
}

function renderNotice(kind: '' | 'good' | 'warn', text: string): string {
  return html`<div class="notice ${kind}"><p>${text}</p></div>`;
}

type TreasuryBody = ResultOf<Endpoints['getTreasury']>['body'];

type FeeOut = TreasuryBody['recent_fees'][number];

const SUMS_CACHED_MS = 10_000;
/** Sums are cached for this many times as long as counting them took, which limits the load on the database. */
const CACHE_FACTOR = 50;

interface CachedSums<Sums> {
  sums: Sums;
  countedAtMs: number;
}

/** Joins concurrent callers into one count, and caches it for some seconds. A failure reaches all waiting callers and is not cached. */
export function cacheSums<Sums>(clock: Clock, count: () => Promise<Sums>): () => Promise<CachedSums<Sums>> {
  let cached: (CachedSums<Sums> & { untilMs: number }) | null = null;
  let counting: Promise<CachedSums<Sums>> | null = null;
  const countNow = async (): Promise<CachedSums<Sums>> => {
    const countedAtMs = clock.now();
    const sums = await count();
    const endedMs = clock.now();
    cached = { sums, countedAtMs, untilMs: endedMs + Math.max(SUMS_CACHED_MS, CACHE_FACTOR * (endedMs - countedAtMs)) };
    return cached;
  };
  return () => {
    if (cached !== null && clock.now() < cached.untilMs) return Promise.resolve(cached);
    counting ??= countNow().finally(() => {
      counting = null;
    });
    return counting;
  };
}

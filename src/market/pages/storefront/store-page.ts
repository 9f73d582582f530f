import { html } from 'ghtml';
import type { ResultOf } from '../../../contract/endpoint.ts';
import type { Endpoints } from '../../../contract/index.ts';
import type { ListingSummary } from '../../../contract/listings.ts';
import type { MerchantRecord } from '../../../contract/merchant-record.ts';
import { drawMark } from '../pictures/draw-mark.ts';
import { renderStorePreview } from '../pictures/render-preview-tags.ts';
import type { PagePlan, Scene, Shown } from './page-plan.ts';
import { renderEmpty, renderListings, renderMark, renderMerchants, renderPaging, storePath } from './render-rows.ts';
import { cleanText, renderDay, renderLine, renderNote, showCount, showNumber } from './render-text.ts';

const STORE_PAGE = 30;
const MERCHANTS_PAGE = 100;

type Store = ResultOf<Endpoints['getStore']>['body'];
type Merchants = ResultOf<Endpoints['listMerchants']>['body'];

export function planStore(handle: string, beforeId: string): PagePlan {
  const query = `limit=${STORE_PAGE}${beforeId === '' ? '' : `&before_id=${encodeURIComponent(beforeId)}`}`;
  const path = storePath(handle);
  return {
    route: '/store/:handle',
    key: `${path}?${query}`,
    request: { route: 'GET /api/store/:handle', params: { handle }, query },
    show: (answer, scene) => showStore(JSON.parse(answer) as Store, beforeId !== '', scene),
    back: { path: '/merchants', name: 'All merchants' },
  };
}

function showStore(
  { merchant, listings, total, next_before_id: next }: Store,
  isLater: boolean,
  { config, nowMs }: Scene,
): Shown {
  const { handle } = merchant;
  const path = storePath(handle);
  return {
    title: `${cleanText(handle)} - Openaisle`,
    head: html`<link rel="alternate" type="application/json" href="/api${path}">
!${isLater ? '' : renderStorePreview(merchant, config.baseUrl)}`,
    main: html`<div class="wide">
<div class="heading">!${drawMark({ merchant: merchant.id }, 'large')}<div>
<h1>!${renderLine(handle)}!${renderMark(merchant)}</h1>
<p class="summary">!${merchant.store_line === '' ? html`<span class="quiet">No store line yet.</span>` : renderLine(merchant.store_line)}</p>
!${renderNote(merchant.store_line_note, 'line')}
!${renderMerchantFacts(merchant)}
</div></div>
<h2>${showCount(total, 'listing')}</h2>
!${listings.length > 0 ? renderListings(listings as ListingSummary[], nowMs) : renderEmpty('Nothing is for sale here at present.', { path: '/shelves', name: 'Go to all shelves' })}
!${renderPaging(next === null ? null : { path: `${path}?before_id=${next}`, name: 'Older' }, isLater ? path : null)}
</div>`,
  };
}

function renderMerchantFacts({ id, joined_at, sales, maintainer, city_handle }: MerchantRecord): string {
  return html`<dl class="facts">
<dt>Merchant</dt><dd>number ${id}!${maintainer ? ', the maintainer of this market' : ''}</dd>
<dt>Joined</dt><dd>!${renderDay(joined_at)}</dd>
<dt>Sales</dt><dd>${showNumber(sales)}</dd>
!${city_handle === null ? '' : html`<dt>In the city</dt><dd><bdi>${city_handle}</bdi></dd>`}
</dl>`;
}

export function planMerchants(afterId: string): PagePlan {
  const query = `limit=${MERCHANTS_PAGE}${afterId === '' ? '' : `&after_id=${encodeURIComponent(afterId)}`}`;
  return {
    route: '/merchants',
    key: `/merchants?${query}`,
    request: { route: 'GET /api/merchants', query },
    show: (answer, scene) => showMerchants(JSON.parse(answer) as Merchants, afterId !== '', scene),
    back: { path: '/merchants', name: 'All merchants' },
  };
}

function showMerchants(
  { merchants, total, next_after_id: next }: Merchants,
  isLater: boolean,
  { nowMs }: Scene,
): Shown {
  return {
    title: 'Merchants - Openaisle',
    path: '/merchants',
    main: html`<div class="wide">
<h1>Merchants</h1>
<p class="summary"><strong>${showNumber(total)}</strong> ${total === 1 ? 'merchant has' : 'merchants have'} a store here, oldest first.</p>
!${merchants.length > 0 ? renderMerchants(merchants, nowMs) : renderEmpty('There are no stores yet.', { path: '/join', name: 'Open the first' })}
!${renderPaging(next === null ? null : { path: `/merchants?after_id=${next}`, name: 'More' }, isLater ? '/merchants' : null)}
</div>`,
  };
}

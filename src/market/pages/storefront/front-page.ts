import { html } from 'ghtml';
import type { ListingSummary } from '../../../contract/listings.ts';
import { describeNetwork } from '../../../contract/vocabulary.ts';
import { CONNECT_PATH, MCP_PATH } from '../../guide/mcp-server.ts';
import { sayEvent } from '../live/event-words.ts';
import { SHELL } from '../shell/assets.ts';
import { FEED_HEAD } from './feed.ts';
import type { PagePlan, Scene, Shown } from './page-plan.ts';
import { renderEmpty, renderListings } from './render-rows.ts';
import { renderAisles, renderShortSearch } from './render-search.ts';
import { renderAge, showNumber } from './show-facts.ts';

const NEWEST = 10;
const EVENTS = 8;

type Aisles = Parameters<typeof renderAisles>[0];

export function planFront(events: Scene['events']): PagePlan {
  const query = `limit=${NEWEST}`;
  return {
    route: '/',
    key: '/',
    version: String(events.version()),
    request: { route: 'GET /api/shelves', query },
    connects: true,
    show: (answer, scene) =>
      showFront(JSON.parse(answer) as { aisles: Aisles; listings: ListingSummary[]; total: number }, scene),
    back: { path: '/shelves', name: 'All shelves' },
  };
}

function showFront(
  { aisles, listings, total }: { aisles: Aisles; listings: ListingSummary[]; total: number },
  scene: Scene,
): Shown {
  const { nowMs, config } = scene;
  return {
    title: 'Openaisle: a market of AI agents',
    head: FEED_HEAD,
    scripts: [SHELL.suggest.path],
    main: html`<div class="front wide">
<h1>A market where agents sell to agents, and to people</h1>
<p class="summary">Buyers pay sellers wallet to wallet, in USDC on ${describeNetwork(config.network)}; the market never holds the money. Goods are handed over once the payment is final.</p>
!${renderShortSearch()}
!${renderAisles(aisles, null, total)}
<div class="halves">
<section aria-labelledby="newest">
<h2 id="newest">Newest on the shelves</h2>
!${listings.length === 0 ? renderEmpty('Nothing is for sale yet.', { path: '/join', name: 'Open a store' }) : renderListings(listings, nowMs)}
!${total > listings.length ? html`<p class="more"><a class="button" href="/shelves">All ${showNumber(total)} listings</a></p>` : ''}
</section>
<div class="beside">
!${renderActivity(scene)}
!${renderWays(config.baseUrl)}
</div>
</div>
</div>`,
  };
}

function renderActivity({ events, nowMs }: Scene): string {
  const { events: shown, total } = events.newest('door', EVENTS);
  return html`<section aria-labelledby="last">
<h2 id="last">What happened last</h2>
!${
    shown.length === 0
      ? html`<p class="quiet">Nothing has happened yet.</p>`
      : html`<ol class="activity">!${shown.map((event) => html`<li>!${sayEvent(event)} !${renderAge(event.at, nowMs)}</li>`)}</ol>`
  }
<p class="quiet">Showing ${shown.length} of ${showNumber(total)}. The <a href="/window">window</a> shows it as it happens, the <a href="/events">public log</a> has all of it.</p>
</section>`;
}

function renderWays(baseUrl: string): string {
  return html`<section aria-labelledby="agent">
<h2 id="agent">For agents</h2>
<ul class="ways">
<li><a href="/llms.txt">/llms.txt</a>: everything, in one text</li>
<li><a href="/openapi.json">/openapi.json</a>: every address with its schemas</li>
<li><code>${baseUrl}${MCP_PATH}</code>: the same as tools, over MCP</li>
<li><a href="/api/official">/api/official</a>: the facts to trust</li>
</ul>
</section>
<section aria-labelledby="person">
<h2 id="person">For people</h2>
<ul class="ways">
<li><a href="/shelves">Look at the shelves</a>; no account is needed</li>
<li><a href="${CONNECT_PATH}">Connect your assistant</a>, so that it can act for you</li>
<li><a href="/join">Open a store</a> and keep its key</li>
<li><a href="/help">How buying and selling work</a></li>
</ul>
</section>`;
}

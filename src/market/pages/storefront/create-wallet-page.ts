import { html } from 'ghtml';
import type { ListingDetail } from '../../../contract/listings.ts';
import { formatUsdc, unitsOfUsdc } from '../../../contract/money.ts';
import { type Incoming, type Outgoing, readOutgoing } from '../../../platform/http/message.ts';
import type { ExtraRoute, InternalRequests } from '../../../platform/http/server-options.ts';
import type { Market, MarketConfig, Merchant } from '../../context.ts';
import { drawMark } from '../pictures/draw-mark.ts';
import { answerRefusal } from '../refusals.ts';
import { SHELL } from '../shell/assets.ts';
import { noncePolicy, renderShell } from '../shell/render-shell.ts';
import { purchaseIntentCommand, type WalletUse, walletUseOf } from './how-to-buy.ts';
import type { ListingAnswer } from './render-listing.ts';
import { renderMark, storePath } from './render-rows.ts';
import { cleanText, renderLine, renderNote, showPrice } from './render-text.ts';

const PATH = '/listing/:id/buy';

/** Creates the page on which a buyer pays with a browser wallet. It shows the goods as the API describes them. */
export function createWalletPage(
  market: Market,
  inside: InternalRequests<Merchant>,
  /** Returns the current x402 minimum price in USDC units. Null if it is unknown. */
  readLeastPriceUnits: () => Promise<bigint | null>,
): ExtraRoute[] {
  const answer = async (incoming: Incoming): Promise<Outgoing> => {
    const params = { id: incoming.params['id'] ?? '' };
    const request = { route: 'GET /api/listing/:id', params, query: 'comments_limit=1' };
    const outgoing = await inside.ask({ ...request, headers: { accept: 'application/json' } }, incoming);
    if (outgoing.status !== 200) return answerRefusal(outgoing, incoming);
    const { listing } = JSON.parse(await readOutgoing(outgoing)) as ListingAnswer;
    const nonce = market.random.bytes(18).toString('base64url');
    const { title, main } = renderWalletPage(listing, market.config, await readLeastPriceUnits());
    return {
      status: 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': walletPolicy(nonce),
        'cache-control': 'private, no-store',
      },
      body: renderShell({
        ...{ title, main, nonce, scripts: [SHELL.walletFlow.path] },
        styles: [SHELL.wallet.path],
      }),
    };
  };
  return [{ method: 'GET', path: PATH, withHead: true, ownOrigin: true, answer }];
}

/** Allows requests to this market only, and data URLs for the icons that wallets supply. */
function walletPolicy(nonce: string): string {
  return `${noncePolicy(nonce).replace("img-src 'self'", "img-src 'self' data:")}; connect-src 'self'`;
}

const VERBS: Readonly<Record<WalletUse, string>> = { buy: 'Buy', get: 'Get', too_small: 'Buy', thing: 'Buy' };

/** Renders everything that needs no script; the script takes over inside `#flow`. */
function renderWalletPage(
  listing: ListingDetail,
  config: MarketConfig,
  leastPriceUnits: bigint | null,
): { title: string; main: string } {
  const use = walletUseOf(listing, config.limits);
  const { id, title, aisle, price_usdc, merchant } = listing;
  return {
    title: `${VERBS[use]} ${cleanText(title)} - Openaisle`,
    main: html`<div class="buying">
<p class="back"><a href="/listing/${id}">Back to the listing</a></p>
<div class="heading">!${drawMark({ listing: id, aisle }, 'small')}<div>
<h1>${VERBS[use]} !${renderLine(title)}</h1>
!${renderNote(listing.title_note, 'title')}
<p class="offer"><strong class="price">${showPrice(price_usdc)}</strong> <span>by <a href="${storePath(merchant)}"><bdi>${merchant}</bdi></a>!${renderMark(listing)}</span> <span class="quiet">Listing ${id}</span></p>
</div></div>
!${use === 'buy' ? renderTooCheap(listing, config, leastPriceUnits) : ''}
!${use === 'buy' || use === 'get' ? renderFlow(listing, config, use) : renderOtherWay(listing, use)}
</div>`,
  };
}

/** Renders a notice above the flow. The flow stays, because it also collects goods that this browser has already paid for. */
function renderTooCheap(listing: ListingDetail, config: MarketConfig, leastPriceUnits: bigint | null): string {
  if (listing.state !== 'live' || leastPriceUnits === null) return '';
  if ((unitsOfUsdc(listing.price_usdc) ?? 0n) >= leastPriceUnits) return '';
  return html`<div class="notice warn">
<h2>Too small for a signature just now</h2>
<p>Payments by signature are taken from ${formatUsdc(leastPriceUnits)} on while gas costs what it does. Come back later, or pay by an ordinary transfer: the answer to this request says where to and which words to sign. What you have paid for already is collected below.</p>
<code class="key">${purchaseIntentCommand(listing.id, config)}</code>
</div>`;
}

function renderFlow(listing: ListingDetail, config: MarketConfig, use: WalletUse): string {
  return html`<div id="flow" class="flow" data-deal="${JSON.stringify(offerOf(listing, config))}">
<p class="loading">Getting ready. If this stays, load the page again, or use the <a href="/listing/${listing.id}#how">other ways</a>.</p>
<noscript><div class="notice warn"><h2>This page needs its script</h2>
<p>${use === 'get' ? 'Getting the goods here' : 'Paying with a wallet'} is done by a script of this page, and scripts are switched off. Nothing was signed. The <a href="/listing/${listing.id}#how">other ways</a> work without one.</p></div></noscript>
</div>`;
}

/** Returns the terms shown to the buyer before signing. The script checks every message against them. */
function offerOf(listing: ListingDetail, { network, explorerUrl }: MarketConfig) {
  const { id, title, merchant, price_usdc, seller_wallet, state, artifact_commitment } = listing;
  return {
    ...{ id, title, merchant, price_usdc, seller_wallet, state, artifact_commitment },
    ...{ network: network.name, usdc: network.usdc, explorer_url: explorerUrl },
  };
}

function renderOtherWay({ id, city_offer_url: offer }: ListingDetail, use: WalletUse): string {
  if (use === 'thing') {
    const city =
      offer !== null && /^https?:\/\//.test(offer)
        ? html` The offer stands <a href="${offer}" rel="nofollow noopener">in the city</a>.`
        : '';
    return html`<div class="notice">
<h2>Bought in the city, not here</h2>
<p>This is a thing of the city. A resident of the city reserves it there and pays for it there, after a checkout at this market. No wallet can do that from this page.!${city}</p>
<p><a class="button" href="/listing/${id}#how">How it is bought</a></p>
</div>`;
  }
  return html`<div class="notice">
<h2>Too small for this way of paying</h2>
<p>A payment by signature costs more to carry out than this price. Goods this cheap are paid for by an ordinary transfer; the listing says where to and which words to sign.</p>
<p><a class="button" href="/listing/${id}#how">Pay by a transfer</a></p>
</div>`;
}

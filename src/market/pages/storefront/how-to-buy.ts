import { html } from 'ghtml';
import type { ListingDetail } from '../../../contract/listings.ts';
import { unitsOfUsdc } from '../../../contract/money.ts';
import { DEFAULT_NETWORK, type Limits } from '../../../contract/vocabulary.ts';
import type { MarketConfig } from '../../context.ts';
import { MCP_PATH } from '../../guide/mcp-server.ts';

interface Way {
  id: string;
  name: string;
  says: string;
  text: string;
}

export function renderHowToBuy(listing: ListingDetail, config: MarketConfig): string {
  if (listing.state !== 'live') return '';
  const ways = listing.delivery_kind === 'city_ownership' ? waysToThing(listing, config) : waysToGoods(listing, config);
  return html`<section aria-labelledby="how">
<h2 id="how">${listing.price_usdc === 0 ? 'How to get it' : 'How to buy'}</h2>
<p id="said" class="heard" role="status"></p>
!${renderWallet(listing, config)}
!${ways.map(renderWay)}
</section>`;
}

/** Renders the link to the page for buying with a wallet or getting free goods. Empty if that page cannot sell the listing. */
function renderWallet(listing: ListingDetail, { limits, network }: MarketConfig): string {
  const use = walletUseOf(listing, limits);
  const path = `/listing/${listing.id}/buy`;
  if (use === 'get') {
    return renderLink(path, 'In this browser', 'Get it', 'It costs nothing, and no wallet is needed.');
  }
  if (use !== 'buy') return '';
  return renderLink(
    path,
    'With a wallet',
    'Buy with a wallet',
    `In this browser, with USDC on ${network.displayName}. You sign once, see beforehand what you sign, and pay no gas.`,
  );
}

function renderLink(path: string, name: string, words: string, says: string): string {
  return html`<section class="shown" aria-labelledby="by-wallet">
<h3 id="by-wallet">${name}</h3>
<p>${says}</p>
<div class="row"><a class="button" href="${path}">${words}</a></div>
</section>`;
}

function renderWay({ id, name, says, text }: Way): string {
  return html`<section class="shown" aria-labelledby="${id}-name">
<h3 id="${id}-name">${name}</h3>
<p>${says}</p>
<code class="key copied" id="${id}">${text}</code>
<div class="row"><button type="button" data-copy="${id}" hidden aria-describedby="${id}-name">Copy</button></div>
</section>`;
}

function waysToGoods(listing: ListingDetail, config: MarketConfig): Way[] {
  const { id, price_usdc: price } = listing;
  const { baseUrl, limits } = config;
  if (price === 0) {
    return [
      {
        id: 'by-http',
        name: 'Over HTTP',
        says: 'One request, and the goods are the answer.',
        text: curlPost(baseUrl, `/api/buy/${id}`),
      },
      byTool(config, 'buy', { id }),
    ];
  }
  if ((unitsOfUsdc(price) ?? 0n) < BigInt(limits.x402_floor_units)) {
    const intent = purchaseIntentCommand(id, config);
    const says = 'This price is too small for x402. The answer says where to send it and which words to sign.';
    return [
      { id: 'by-transfer', name: 'By a transfer', says, text: intent },
      byTool(config, 'purchase_intent', { id }),
    ];
  }
  return [byPaidRequest(listing, config), bySdk(listing, config), byTool(config, 'buy', { id, max_price_usdc: price })];
}

/** Returns the shell command that starts a purchase by transfer. */
export function purchaseIntentCommand(id: number, { baseUrl }: Pick<MarketConfig, 'baseUrl'>): string {
  return curlPost(baseUrl, `/api/purchase-intent/${id}`, '-H "Authorization: Bearer $OPENAISLE_KEY"');
}

function byPaidRequest({ id }: ListingDetail, { baseUrl }: MarketConfig): Way {
  return {
    id: 'by-http',
    name: 'Agent, over HTTP',
    says: 'Without a payment the answer is 402 and says what to sign (x402). The same request with the signed proof buys; it answers 202 until the transfer is final, then with the goods. Repeat it with the same proof, and sign nothing new.',
    text: `${curlPost(baseUrl, `/api/buy/${id}`)}
${curlPost(baseUrl, `/api/buy/${id}`, '-H "X-PAYMENT: $PROOF"')}`,
  };
}

function bySdk({ id, price_usdc: price }: ListingDetail, { baseUrl, network }: MarketConfig): Way {
  const onNetwork = network.name === DEFAULT_NETWORK.name ? '' : `, network: '${network.name}'`;
  return {
    id: 'by-sdk',
    name: 'Agent, in TypeScript',
    says: 'Signs once with your wallet, waits until the transfer is final, and checks the goods against the commitment below.',
    text: `import { buy, createClient } from 'openaisle-sdk';

const client = createClient({ baseUrl: '${baseUrl}' });
const terms = { listingId: ${id}, maxPriceUsdc: ${price}${onNetwork} };
const goods = await buy({ client, wallet, ...terms });`,
  };
}

function waysToThing({ id, city_url: city }: ListingDetail, config: MarketConfig): Way[] {
  const text = curlPost(config.baseUrl, `/api/world/checkout/${id}`, '-H "Authorization: Bearer $OPENAISLE_KEY"');
  const says = `This is a thing of the city${city === null ? '' : ` at ${city}`}: your resident reserves it there and pays for it there. A checkout here comes first.`;
  return [{ id: 'by-http', name: 'Over HTTP', says, text }, byTool(config, 'checkout_world', { id })];
}

function byTool({ baseUrl }: MarketConfig, name: string, args: Readonly<Record<string, number>>): Way {
  return {
    id: 'by-tool',
    name: 'As a tool, over MCP',
    says: `At ${baseUrl}${MCP_PATH}, in any host that speaks MCP:`,
    text: JSON.stringify({ name, arguments: args }),
  };
}

function curlPost(baseUrl: string, path: string, more = ''): string {
  return `curl -X POST ${more}${more === '' ? '' : ' '}${baseUrl}${path}`;
}

/**
 * Use of the wallet page for a listing: `buy` sells it, `get` gives it out free. Otherwise, the reason why the page can do neither: the
 * price is too small (`too_small`), or the listing is a thing in a city (`thing`).
 */
export type WalletUse = 'buy' | 'get' | 'too_small' | 'thing';

export function walletUseOf(
  { delivery_kind, price_usdc }: Pick<ListingDetail, 'delivery_kind' | 'price_usdc'>,
  limits: Pick<Limits, 'x402_floor_units'>,
): WalletUse {
  if (delivery_kind === 'city_ownership') return 'thing';
  if (price_usdc === 0) return 'get';
  return (unitsOfUsdc(price_usdc) ?? 0n) < BigInt(limits.x402_floor_units) ? 'too_small' : 'buy';
}

import { html } from 'ghtml';
import type { OfferOut, OfferPhase } from '../../contract/world-records.ts';
import type { PageAnswer } from '../../platform/http/server-options.ts';
import { historyLost } from '../../platform/log-copy/place.ts';
import type { City } from '../context.ts';
import { presentOffer } from '../offers/present-offer.ts';
import { mustFindOffer } from '../offers/store.ts';
import { answerHtml, renderFacts, renderPrice, renderResident, renderTime } from './answer-html.ts';

const PHASES: Readonly<Record<OfferPhase, string>> = {
  listed: 'Open to buyers on the market.',
  reserved: 'A buyer holds it for five minutes and may pay within them.',
  payment_pending: 'Paid, as it looks. The thing moves when the chain cannot take the payment back any more.',
  payment_invalid: 'A transfer was made that does not fit the reservation. Buyer and seller have to speak.',
  payment_expired: 'No payment that fits was found in time.',
  founder_review: 'A payment was seen and did not become final in time. Buyer and seller have to speak.',
  claimed: 'Sold: the payment is final and the thing is the buyer’s.',
  canceled: 'Canceled by the seller.',
};

export async function offerPage(city: City, id: bigint): Promise<PageAnswer> {
  // If a sale was lost, the page would show the thing as for sale.
  if (city.isLost()) throw historyLost();
  const offer = presentOffer(city, await mustFindOffer(city.database, id));
  const title = `Offer ${offer.id}`;
  const main = html`<h1>${title}: ${offer.thing_name}</h1>
<p class="summary">${PHASES[offer.phase]}</p>
<img class="picture" src="/thing/${offer.thing_id}/picture.svg" width="400" height="400" alt="">
!${renderFacts([...termsOf(city, offer), ...momentsOf(offer), ...paymentOf(offer)])}`;
  return answerHtml(city, { title, main, json: `/api/world/offer/${offer.id}` });
}

type Fact = readonly [name: string, value: string];

function termsOf({ config }: City, offer: OfferOut): Fact[] {
  const { market_listing_id: listingId, market_origin: origin } = offer;
  // The offer may name an earlier market of this city. Link only to the present market.
  const listing = listingId !== null && origin === config.marketUrl ? `${origin}/api/listing/${listingId}` : null;
  return [
    ['Phase', html`<code>${offer.phase}</code>`],
    ['Thing', html`<a href="/thing/${offer.thing_id}">${offer.thing_name}</a>`],
    ['Price', renderPrice(offer.price_usdc)],
    ['Seller', renderResident(offer.seller)],
    ['Paid to', html`<code>${offer.seller_wallet}</code>`],
    ['Market', listing === null ? html`${origin}` : html`<a href="${listing}">listing ${listingId}</a>`],
  ];
}

function momentsOf(offer: OfferOut): Fact[] {
  const moments: readonly (readonly [string, string | null])[] = [
    ['Opened', offer.created_at],
    ['Reserved', offer.reserved_at],
    ['Reserved until', offer.reserved_until],
    ['Sold', offer.claimed_at],
    ['Canceled', offer.canceled_at],
  ];
  return moments.flatMap(([name, at]) => (at === null ? [] : [[name, renderTime(at)] as const]));
}

function paymentOf(offer: OfferOut): Fact[] {
  const facts: Fact[] = [];
  if (offer.buyer !== null) facts.push(['Buyer', renderResident(offer.buyer)]);
  if (offer.buyer_wallet !== null) facts.push(['Paid from', html`<code>${offer.buyer_wallet}</code>`]);
  if (offer.tx_hash !== null) facts.push(['Transaction', html`<code>${offer.tx_hash}</code>`]);
  if (offer.block_number !== null) facts.push(['Block', html`<code>${offer.block_number}</code>`]);
  return facts;
}

import type { CityEndpointName } from './city.ts';
import type { OperationText } from './openapi.ts';
import { RESERVATION_MINUTES, STAGE_MINUTES } from './vocabulary.ts';

export const CITY_TAGS = {
  Residents: 'Residents of the city, and the merchants they are linked to.',
  Things: 'Things that residents own. Each is unique and has one owner.',
  Offers: 'Sell a thing through the market; the buyer pays here by a USDC transfer.',
} as const;

type CityText = OperationText & { tag: keyof typeof CITY_TAGS };

/** Descriptions of the city's operations. An operation without one does not compile. */
export const CITY_TEXTS: Readonly<Record<CityEndpointName, CityText>> = {
  registerResident: {
    tag: 'Residents',
    says: `stage shows the key once: store it, then confirm within ${STAGE_MINUTES} minutes with the key in Authorization.`,
  },
  linkMarket: { tag: 'Residents', says: 'The link counts once the merchant also names this resident on the market.' },
  getResident: { tag: 'Residents', says: 'The market reads it to check that a link is mutual.', id: 'a resident' },
  makeThing: { tag: 'Things', says: 'Each resident can make a limited number a day.' },
  giveThing: { tag: 'Things', says: 'It takes effect at once and cannot be undone.', id: 'a thing' },
  getThing: { tag: 'Things', says: 'It includes every change of owner.', id: 'a thing' },
  openOffer: {
    tag: 'Offers',
    says: 'The market’s draft sets price, wallet and thing. An offer that differs is refused.',
  },
  getOffer: {
    tag: 'Offers',
    says: 'The market reads it before it lists a thing, and during a sale.',
    id: 'an offer',
  },
  reserveOffer: {
    tag: 'Offers',
    says: `You need an open checkout on the market. Sign the challenge with personal_sign, and make the transfer within ${RESERVATION_MINUTES} minutes.`,
    id: 'an offer',
  },
  claimOffer: {
    tag: 'Offers',
    says: 'payer_signature signs the reservation’s challenge with personal_sign and the wallet that paid.',
    id: 'an offer',
  },
  reconcileOffer: { tag: 'Offers', says: 'Call this instead of paying again.', id: 'an offer' },
  cancelOffer: { tag: 'Offers', says: 'The listing on the market ends too.', id: 'an offer' },
};

import type { CityEndpointName } from './city.ts';
import type { OperationText } from './openapi.ts';
import { RESERVATION_MINUTES, STAGE_MINUTES } from './vocabulary.ts';

/** Tags of the description of a city. */
export const CITY_TAGS = {
  Residents: 'Who lives in the city, and which merchant of the market each is.',
  Things: 'What residents own. Each is unique and has one owner.',
  Offers: 'Selling a thing through the market, and paying for it here by a transfer of USDC.',
} as const;

type CityText = OperationText & { tag: keyof typeof CITY_TAGS };

/** What the description says of each operation of the city. One without a text does not compile. */
export const CITY_TEXTS: Readonly<Record<CityEndpointName, CityText>> = {
  registerResident: {
    tag: 'Residents',
    says: `stage shows the key once: store it, then confirm within ${STAGE_MINUTES} minutes with that key in Authorization.`,
  },
  linkMarket: { tag: 'Residents', says: 'It counts once the merchant names this resident on the market as well.' },
  getResident: { tag: 'Residents', says: 'The market reads it to see whether a link is mutual.', id: 'a resident' },
  makeThing: { tag: 'Things', says: 'So many a day for each resident.' },
  giveThing: { tag: 'Things', says: 'At once, and not to be taken back.', id: 'a thing' },
  getThing: { tag: 'Things', says: 'With every change of its owner.', id: 'a thing' },
  openOffer: { tag: 'Offers', says: 'The draft on the market names price, wallet and thing; what differs is refused.' },
  getOffer: {
    tag: 'Offers',
    says: 'The market reads it before it lists a thing and while a sale is under way.',
    id: 'an offer',
  },
  reserveOffer: {
    tag: 'Offers',
    says: `Needs an open checkout on the market. Sign the challenge with personal_sign, and transfer within ${RESERVATION_MINUTES} minutes.`,
    id: 'an offer',
  },
  claimOffer: {
    tag: 'Offers',
    says: 'payer_signature is the personal_sign signature of the reservation’s challenge by the wallet that paid.',
    id: 'an offer',
  },
  reconcileOffer: { tag: 'Offers', says: 'Ask it instead of paying again.', id: 'an offer' },
  cancelOffer: { tag: 'Offers', says: 'The listing on the market ends with it.', id: 'an offer' },
};

import { LISTING_FEE_TEXT } from '../../../contract/money.ts';
import {
  CHECKOUT_MINUTES,
  DRAFT_MINUTES,
  RECOVERY_HOURS,
  RESERVATION_MINUTES,
  RESERVATION_PAUSE_MINUTES,
} from '../../../contract/vocabulary.ts';
import { type Block, type Document, heading, list, steps, text } from '../../guide/guide.ts';
import type { DocumentFacts } from './support.ts';

const SUMMARY = 'How the ownership of a thing in a city is sold here.';

export function cityBridgeDocument({ cityUrl }: Pick<DocumentFacts, 'cityUrl'>): Document {
  if (cityUrl === null) return { title: 'City bridge', summary: SUMMARY, blocks: unlinkedCityBlocks() };
  return {
    title: 'City bridge',
    summary: SUMMARY,
    blocks: [...linkBlocks(cityUrl), ...sellBlocks(), ...buyBlocks(), ...troubleBlocks(), ...separationBlocks()],
  };
}

function unlinkedCityBlocks(): Block[] {
  return [
    heading('No city'),
    text(
      'This market is linked to no city. The aisle `world` is empty, and its routes answer [world_closed](/docs/errors/world_closed). All other aisles sell as always: [what is for sale](/shelves).',
    ),
  ];
}

function linkBlocks(cityUrl: string): Block[] {
  return [
    heading('The link'),
    text(
      `The city is at [${cityUrl}](${cityUrl}), and at no other address. It keeps things and says whose they are; this market lists them and keeps the record of their sale. They stand in the aisle [world](/shelves?aisle=world).`,
    ),
    text(
      'A merchant here and a resident there name each other: `POST /api/city-link` with your merchant key, `POST /api/market-link` in the city with your key of the city. Both are public. Only where they agree is it a link; either side ends it with null.',
    ),
  ];
}

function sellBlocks(): Block[] {
  return [
    heading('To sell a thing'),
    steps([
      `Here: \`POST /api/world/draft\` with texts, price, wallet and \`thing_id\`. It is free and open for ${DRAFT_MINUTES} minutes.`,
      'In the city: `POST /api/world/offer` with `market_draft_id` and `thing_id`. The thing is locked.',
      `Here: \`POST /api/world/listing\` with \`draft_id\` and \`city_offer_id\`. The two are compared, then the fee of ${LISTING_FEE_TEXT} is asked for; the thing is listed once that is final.`,
    ]),
    text('The wallet of a thing sells things only, so that one transfer never buys on both sites.'),
  ];
}

function buyBlocks(): Block[] {
  return [
    heading('To buy a thing'),
    steps([
      `Here: \`POST /api/world/checkout/<id>\` with your \`city_handle\`. It gives ${CHECKOUT_MINUTES} minutes and reserves nothing. Do not pay yet.`,
      `In the city: reserve the offer with the number of that checkout and the wallet that will pay. The first who asks has the thing for ${RESERVATION_MINUTES} minutes.`,
      'From that wallet: one transfer of at least the price to the wallet of the seller, within those minutes.',
      'In the city: claim it with the transaction and your signature. When the transfer is final, the thing is yours.',
      'Here: `POST /api/world/sync/<id>` records the sale. It happens by itself a little later.',
    ]),
  ];
}

function troubleBlocks(): Block[] {
  return [
    heading('When something goes wrong'),
    list([
      `Finality is late: the thing is held for you for ${RECOVERY_HOURS} hours. Send the same claim again; do not pay again.`,
      '`payment_invalid`, `payment_expired`, `founder_review`: there is no sale. Call sync, do not pay again, and speak with the seller about the money. The seller then cancels the offer in the city.',
      '`needs_review`: the city calls the thing sold, and the transfer breaks a term that this market knows of. No sale is recorded, and the buyer should not pay again.',
      '[city_unavailable](/docs/errors/city_unavailable): nothing was changed. Send the same request again.',
      `Reserved and not paid: the thing is free again, and you wait ${RESERVATION_PAUSE_MINUTES} minutes before you may reserve it again.`,
    ]),
  ];
}

function separationBlocks(): Block[] {
  return [
    heading('What each side sees'),
    list([
      'Each site has keys of its own and refuses those of the other. A key of this market goes to this market only.',
      'They read of each other what everybody can read, and nothing else.',
      'Neither takes the word of the other for money: both look for the transfer on the chain.',
    ]),
  ];
}

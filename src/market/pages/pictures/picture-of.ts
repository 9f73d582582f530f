import type { ListingDetail, MerchantRecord } from '../../../contract/listings.ts';
import { AISLE_WORDS } from '../../../contract/vocabulary.ts';
import { drawMark, type Marked } from '../marks/draw-mark.ts';
import { beginningOf } from '../storefront/render-written.ts';
import { showPrice } from '../storefront/show-facts.ts';
import { isShown } from './is-shown.ts';
import { markColours } from './mark-colours.ts';
import type { CardQuestion } from './picture-question.ts';

/** What is asked for more than this is cut anyway, and need not be sent about. */
const LONGEST = 300;

/** Of goods that are off the market the mark and the number are shown, and nothing that their merchant wrote. */
export function pictureOfListing(listing: ListingDetail): CardQuestion {
  const { id, aisle, title, price_usdc, merchant } = listing;
  const name = `Listing ${id}`;
  const card = { ...withMark({ listing: id, aisle }), otherwise: name, text: '' };
  const kind = AISLE_WORDS[aisle].name;
  if (!isShown(listing)) {
    return { ...card, title: name, price: '', from: { merchant: '', rest: `${kind}, no longer for sale` } };
  }
  const price = listing.state === 'sold' ? `Sold for ${showPrice(price_usdc)}` : showPrice(price_usdc);
  return {
    ...card,
    title: beginningOf(title, LONGEST),
    price,
    from: { merchant: beginningOf(merchant, LONGEST), rest: kind },
  };
}

export function pictureOfStore({ id, handle, store_line }: MerchantRecord): CardQuestion {
  return {
    ...withMark({ merchant: id }),
    ...{ title: beginningOf(handle, LONGEST), otherwise: `Merchant ${id}`, text: beginningOf(store_line, LONGEST) },
    ...{ price: '', from: { merchant: '', rest: 'A store at Openaisle' } },
  };
}

function withMark(marked: Marked): Pick<CardQuestion, 'kind' | 'mark' | 'colours'> {
  const mark = drawMark(marked, 'large');
  const hue = /class="mark large ([\w-]+)"/.exec(mark)?.[1] ?? '';
  return { kind: 'card', mark, colours: markColours(hue) };
}

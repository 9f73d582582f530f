import { LISTING_FEE_TEXT } from '../../contract/money.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import { listGoods } from '../../sdk/payments/list-goods.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { holdPaidInOrder, proofsIn } from './paid-in-order.ts';
import { SELLER } from './people.ts';
import { balanceOf, explain, hold, type Scene, speakAs } from './scene.ts';
import type { Step } from './step.ts';

export const PRICE_USDC = 2.5;
const { sellerOne, treasury } = WORLD_ACCOUNTS;

export const listPricedStep: Step = {
  name: 'list-priced',
  title: `${SELLER} lists goods for ${PRICE_USDC} USDC and pays the listing fee by x402`,
  run: async (scene) => {
    const { client, exchanges } = speakAs(scene, SELLER);
    const listing = goodsOf(scene);
    const before = await balanceOf(scene, treasury);
    const { listing_id: id, fee } = await listGoods({
      client,
      wallet: sellerOne.signer,
      listing,
      signal: scene.signal,
    });
    const asked = holdPaidInOrder(scene, exchanges, {
      path: '/api/listing',
      payee: treasury,
      payeeName: 'the treasury',
      units: LISTING_FEE_UNITS,
      last: 201,
    });
    hold(scene, proofsIn(asked).size === 1, 'one authorization was signed, and sent each time');
    const received = (await balanceOf(scene, treasury)) - before;
    hold(scene, received === LISTING_FEE_UNITS && fee.tx_hash !== null, `the treasury has ${LISTING_FEE_TEXT} more`);
    const { client: anybody } = speakAs(scene, null);
    const { body: shelves } = await anybody.browseShelves();
    hold(
      scene,
      shelves.listings.some((shown) => shown.id === id),
      `listing ${id} is on the shelves`,
    );
    const { body: detail } = await anybody.getListing({ params: { id } });
    const shown = JSON.stringify([shelves, detail]);
    hold(
      scene,
      !shown.includes(listing.artifact),
      'what the public sees holds no word of the artifact, only a commitment to it',
    );
    explain(
      scene,
      `Listing costs ${LISTING_FEE_TEXT}, paid from wallet to treasury; the market finishes the listing by itself when the fee is final.`,
    );
    scene.goods = { id, title: listing.title, artifact: listing.artifact, priceUsdc: PRICE_USDC };
  },
};

export function goodsOf(scene: Scene) {
  return {
    title: `Notes on reading finality, edition ${scene.edition}`,
    description: 'What it means that a block is final, for agents that wait for money.',
    preview: 'Three lines of text.',
    artifact: `Edition ${scene.edition}: latest is a rumour, safe is a promise, finalized is a fact. Deliver on facts.`,
    price_usdc: PRICE_USDC,
    seller_wallet: sellerOne.address,
    tags: ['demo', 'knowledge'],
  };
}

import { LISTING_FEE_TEXT, usdcOfUnits } from '../../contract/money.ts';
import { LISTING_FEE_UNITS } from '../../contract/vocabulary.ts';
import { buy } from '../../sdk/payments/buy.ts';
import { listGoods } from '../../sdk/payments/list-goods.ts';
import { type TestAccount, WORLD_ACCOUNTS } from '../chain/accounts.ts';
import type { Exchange } from '../observe.ts';
import { balanceOf, check, explain, need, observedClient, type Scene, SELLER, type Step, unitsOf } from './scene.ts';

export const PRICE_USDC = 2.5;
const { buyerTwo, sellerOne, treasury } = WORLD_ACCOUNTS;

export const listPricedStep: Step = {
  name: 'list-priced',
  title: `${SELLER} lists goods for ${PRICE_USDC} USDC and pays the listing fee by x402`,
  run: async (scene) => {
    const { client, exchanges } = observedClient(scene, SELLER);
    const listing = goodsOf(scene);
    const before = await balanceOf(scene, treasury);
    const { listing_id: id, fee } = await listGoods({
      client,
      wallet: sellerOne.signer,
      listing,
      signal: scene.signal,
    });
    const requests = checkPaymentSteps(scene, exchanges, {
      path: '/api/listing',
      payee: treasury,
      payeeName: 'the treasury',
      units: LISTING_FEE_UNITS,
      last: 201,
    });
    check(scene, proofsIn(requests).size === 1, 'one authorization was signed, and sent each time');
    const received = (await balanceOf(scene, treasury)) - before;
    check(scene, received === LISTING_FEE_UNITS && fee.tx_hash !== null, `the treasury has ${LISTING_FEE_TEXT} more`);
    const { client: anybody } = observedClient(scene, null);
    const { body: shelves } = await anybody.browseShelves();
    check(
      scene,
      shelves.listings.some((shown) => shown.id === id),
      `listing ${id} is on the shelves`,
    );
    const { body: detail } = await anybody.getListing({ params: { id } });
    const shown = JSON.stringify([shelves, detail]);
    check(
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

export const buyWithWalletStep: Step = {
  name: 'buy-with-wallet',
  title: 'A wallet without any account buys it too, by x402 v1',
  run: async (scene) => {
    const goods = need(scene.goods, 'goods');
    const { client, exchanges } = observedClient(scene, null);
    const before = await balanceOf(scene, buyerTwo);
    const wallet = buyerTwo.signer;
    const { id: listingId, priceUsdc: maxPriceUsdc } = goods;
    const delivery = await buy({ client, wallet, listingId, maxPriceUsdc, x402Version: 1, signal: scene.signal });
    const requests = checkPaymentSteps(scene, exchanges, {
      path: `/api/buy/${listingId}`,
      payee: sellerOne,
      payeeName: `${SELLER}'s wallet`,
      units: unitsOf(goods.priceUsdc),
      last: 200,
    });
    const tokens = new Set(requests.flatMap(({ headers }) => headers.get('x-delivery-token') ?? []));
    check(
      scene,
      tokens.size === 1 && requests.every(({ body }) => !('delivery_token' in body)),
      'the buyer brought a delivery token of its own, kept before anything was sent; no answer held one',
    );
    check(scene, requests.at(-1)?.body['collected_by'] === 'token', 'with that token the goods were collected');
    check(
      scene,
      requests.every(({ headers }) => !headers.has('authorization')),
      'no request carried a key',
    );
    check(
      scene,
      delivery.artifact === goods.artifact && delivery.purchase !== null,
      'the goods are the same, and match the commitment',
    );
    const paid = before - (await balanceOf(scene, buyerTwo));
    check(scene, paid === unitsOf(goods.priceUsdc), `the wallet paid ${goods.priceUsdc} USDC, once`);
    explain(
      scene,
      'A wallet is enough: the token, or a signature of the wallet that paid over an amount of 0, collects what was bought.',
    );
  },
};

interface Paid {
  path: string;
  payee: TestAccount;
  payeeName: string;
  units: bigint;
  last: 200 | 201;
}

const LAST = {
  200: '200: once it was final, the market handed over the goods',
  201: '201: once it was final, the listing was live',
};

/** Checks the steps of an x402 payment: the market asks for it (402), lets the client wait until it is final (202), and answers. */
export function checkPaymentSteps(scene: Scene, exchanges: readonly Exchange[], paid: Paid): Exchange[] {
  const sent = exchanges.filter((exchange) => exchange.method === 'POST' && exchange.path === paid.path);
  const looks = sent.filter(({ isCollecting }) => isCollecting);
  const requests = sent.filter(({ isCollecting }) => !isCollecting);
  const [first] = requests;
  const between = requests.slice(1, -1);
  const amount = `${usdcOfUnits(paid.units)} USDC to ${paid.payeeName}`;
  if (looks.length > 0)
    check(
      scene,
      looks.at(-1)?.body['reason'] === 'nothing_to_collect',
      '404: before anything was signed over money, a signature over nothing asked whether the goods are its own already',
    );
  check(
    scene,
    first?.status === 402 && asksExactly(first, paid),
    `402: asked without a payment, the market named what is to be signed, ${amount}`,
  );
  check(
    scene,
    between.some(isNotFinal) && between.every(isWaiting),
    '202: while the transfer was not final there was nothing to do but wait',
  );
  check(scene, requests.at(-1)?.status === paid.last, LAST[paid.last]);
  return requests;
}

function asksExactly({ body }: Exchange, { payee, units }: Paid): boolean {
  const accepts = Array.isArray(body['accepts']) ? (body['accepts'] as Record<string, unknown>[]) : [];
  const [offer] = accepts;
  const payTo = String(offer?.['payTo']).toLowerCase();
  return accepts.length === 1 && payTo === payee.address && offer?.['maxAmountRequired'] === units.toString();
}

/** 503 means that the transfer is not in a block yet, 202 that it is. Both say not to pay again. */
function isWaiting({ status, body }: Exchange): boolean {
  return (status === 202 || status === 503) && body['do_not_pay_again'] === true;
}

function isNotFinal({ status, body }: Exchange): boolean {
  const { block_number: block, finalized_head: head } = (body['payment'] ?? {}) as Record<string, unknown>;
  return status === 202 && typeof block === 'number' && typeof head === 'number' && head < block;
}

/** Lists the distinct proofs that were sent. */
export function proofsIn(exchanges: readonly Exchange[]): Set<string> {
  const proofs = exchanges.map(({ headers }) => headers.get('x-payment') ?? headers.get('payment-signature'));
  return new Set(proofs.filter((proof) => proof !== null));
}

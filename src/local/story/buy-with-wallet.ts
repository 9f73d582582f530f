import { buy } from '../../sdk/payments/buy.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { holdPaidInOrder } from './paid-in-order.ts';
import { SELLER } from './people.ts';
import { balanceOf, explain, given, hold, speakAs } from './scene.ts';
import type { Step } from './step.ts';
import { unitsOf } from './units.ts';

const { buyerTwo, sellerOne } = WORLD_ACCOUNTS;

export const buyWithWalletStep: Step = {
  name: 'buy-with-wallet',
  title: 'A wallet without any account buys it too, by x402 v1',
  run: async (scene) => {
    const goods = given(scene.goods, 'goods');
    const { client, exchanges } = speakAs(scene, null);
    const before = await balanceOf(scene, buyerTwo);
    const wallet = buyerTwo.signer;
    const { id: listingId, priceUsdc: maxPriceUsdc } = goods;
    const delivery = await buy({ client, wallet, listingId, maxPriceUsdc, x402Version: 1, signal: scene.signal });
    const asked = holdPaidInOrder(scene, exchanges, {
      path: `/api/buy/${listingId}`,
      payee: sellerOne,
      payeeName: `${SELLER}'s wallet`,
      units: unitsOf(goods.priceUsdc),
      last: 200,
    });
    const tokens = new Set(asked.flatMap(({ headers }) => headers.get('x-delivery-token') ?? []));
    hold(
      scene,
      tokens.size === 1 && asked.every(({ body }) => !('delivery_token' in body)),
      'the buyer brought a delivery token of its own, kept before anything was sent; no answer held one',
    );
    hold(scene, asked.at(-1)?.body['collected_by'] === 'token', 'with that token the goods were collected');
    hold(
      scene,
      asked.every(({ headers }) => !headers.has('authorization')),
      'no request carried a key',
    );
    hold(
      scene,
      delivery.artifact === goods.artifact && delivery.purchase !== null,
      'the goods are the same, and match the commitment',
    );
    const paid = before - (await balanceOf(scene, buyerTwo));
    hold(scene, paid === unitsOf(goods.priceUsdc), `the wallet paid ${goods.priceUsdc} USDC, once`);
    explain(
      scene,
      'A wallet is enough: the token, or a signature of the wallet that paid over an amount of 0, collects what was bought.',
    );
  },
};

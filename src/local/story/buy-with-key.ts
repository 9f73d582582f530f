import { buy } from '../../sdk/payments/buy.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { holdPaidInOrder, proofsIn } from './paid-in-order.ts';
import { BUYER, SELLER } from './people.ts';
import { balanceOf, explain, given, hold, type Scene, speakAs } from './scene.ts';
import type { Step } from './step.ts';
import { unitsOf } from './units.ts';

const { buyerOne, sellerOne } = WORLD_ACCOUNTS;

export const buyWithKeyStep: Step = {
  name: 'buy-with-key',
  title: `${BUYER}, a merchant with a key, buys it by x402 v2`,
  run: async (scene) => {
    const goods = given(scene.goods, 'goods');
    const { client, exchanges } = speakAs(scene, BUYER);
    const before = await balances(scene);
    const wallet = buyerOne.signer;
    const { id: listingId, priceUsdc: maxPriceUsdc } = goods;
    const delivery = await buy({ client, wallet, listingId, maxPriceUsdc, x402Version: 2, signal: scene.signal });
    const asked = holdPaidInOrder(scene, exchanges, {
      path: `/api/buy/${listingId}`,
      payee: sellerOne,
      payeeName: `${SELLER}'s wallet`,
      units: unitsOf(goods.priceUsdc),
      last: 200,
    });
    const early = asked.slice(0, -1).map(({ text }) => text);
    hold(scene, !early.join().includes(goods.artifact), 'no answer before the last held anything of the goods');
    hold(
      scene,
      delivery.artifact === goods.artifact,
      `the goods are byte for byte what ${SELLER} put in, and match the commitment`,
    );
    const after = await balances(scene);
    const price = unitsOf(goods.priceUsdc);
    const moved = before.buyer - after.buyer === price && after.seller - before.seller === price;
    hold(scene, moved, `${goods.priceUsdc} USDC went from wallet to wallet, once; the market never held them`);
    const { receipt, purchase } = delivery;
    hold(scene, purchase?.verified_via === 'x402' && receipt !== null, `purchase ${purchase?.id} is ${BUYER}'s`);
    explain(
      scene,
      'The buyer signed one transfer; a facilitator put it on the chain, and the market found it there before it delivered.',
    );
    const [proof] = proofsIn(asked);
    scene.sale = { delivery, proof: { name: 'PAYMENT-SIGNATURE', value: given(proof, 'proof') } };
  },
};

async function balances(scene: Scene): Promise<{ buyer: bigint; seller: bigint }> {
  return { buyer: await balanceOf(scene, buyerOne), seller: await balanceOf(scene, sellerOne) };
}

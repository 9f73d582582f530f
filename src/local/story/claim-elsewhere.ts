import { MarketError } from '../../sdk/market-error.ts';
import { WORLD_ACCOUNTS } from '../chain/accounts.ts';
import { MAINTAINER } from '../world.ts';
import { SELLER } from './people.ts';
import { given, hold, type Scene, speakAs } from './scene.ts';

const { buyerThree, sellerOne } = WORLD_ACCOUNTS;

/** Transactions that have paid already, claimed for other things with intents and signatures that are in order. */
export async function holdRefusedElsewhere(scene: Scene, used: { fee: string; sale: string }): Promise<void> {
  const listed = await listWith(scene, used.fee).catch((error: unknown) => error);
  hold(scene, isUsed(listed), 'the transaction of the fee pays for no other listing: 409 transaction_used');
  const bought = await buyWith(scene, used.sale).catch((error: unknown) => error);
  hold(scene, isUsed(bought), 'that of the purchase buys no other goods: 409 transaction_used');
}

function isUsed(answer: unknown): boolean {
  return answer instanceof MarketError && answer.status === 409 && answer.reason === 'transaction_used';
}

async function listWith(scene: Scene, hash: string): Promise<unknown> {
  const { client } = speakAs(scene, SELLER);
  const { body } = await client.openFeeIntent();
  const { id, challenge } = body.fee_intent;
  const payer_signature = await sellerOne.signer.signMessage({ message: challenge });
  const listing = {
    title: `Goods that nobody paid a fee for, edition ${scene.edition}`,
    description: 'They are never on the shelves.',
    preview: '',
    artifact: `Edition ${scene.edition}: nothing to see.`,
    price_usdc: 1,
    seller_wallet: sellerOne.address,
  };
  return await client.createListing({
    body: { ...listing, fee_payment: { intent_id: id, tx_hash: hash, payer_signature } },
  });
}

async function buyWith(scene: Scene, hash: string): Promise<unknown> {
  const params = { id: given(scene.goods, 'goods').id };
  const { client } = speakAs(scene, MAINTAINER);
  const { body } = await client.openPurchaseIntent({ params });
  const { id, challenge } = body.purchase_intent;
  const payer_signature = await buyerThree.signer.signMessage({ message: challenge });
  return await client.claimPurchase({ params, body: { intent_id: id, tx_hash: hash, payer_signature } });
}

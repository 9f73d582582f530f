import type { Delivery } from '../../contract/listings.ts';
import { MarketError } from '../../sdk/market-error.ts';
import { signProof } from '../../sdk/payments/payment-proof.ts';
import { readPaymentRequired } from '../../sdk/payments/payment-required.ts';
import { beginRecord } from '../keep/purchase-record.ts';
import { MessageStale } from '../messages/asking-wallet.ts';
import type { Address } from '../wallets/connect-wallet.ts';
import { WalletTrouble } from '../wallets/provider.ts';
import { askingWallet } from './ask-signature.ts';
import type { Scene } from './scene.ts';
import { showDelivery } from './show-delivery.ts';
import { showRefusal } from './show-refusal.ts';

const MOST_MESSAGES = 15;
const COLLECT = { collect: true } as const;

/** The goods again by what is kept, without a signature. False where the market wants to see one. */
export async function collectByToken(scene: Scene, deliveryToken: string): Promise<boolean> {
  const { client, deal } = scene;
  try {
    const answer = await client.buyListing({ params: { id: deal.id }, body: COLLECT, deliveryToken });
    if (answer.status !== 200) return false;
    showDelivery(scene, answer.body);
    return true;
  } catch (error) {
    if (error instanceof MarketError && error.status < 500 && error.status !== 429) return false;
    throw error;
  }
}

/** The goods again for the wallet that paid. What it signs is sent with `collect` and kept nowhere. */
export async function collectBySignature(scene: Scene, payer: Address): Promise<void> {
  const { keep, now } = scene;
  try {
    for (let round = 0; round < MOST_MESSAGES; round += 1) {
      const delivery = await attempt(scene, payer, round > 0);
      if (delivery === null) continue;
      if (keep.record() === null) keep.write({ ...beginRecord(payer, now()), phase: 'bought' });
      showDelivery(scene, delivery);
      return;
    }
    throw new WalletTrouble('stopped');
  } catch (error) {
    await showRefusal(scene, error, payer);
  }
}

async function attempt(scene: Scene, payer: Address, isRenewed: boolean): Promise<Delivery | null> {
  const { client, deal } = scene;
  const asked = await askTerms(scene);
  const required = readPaymentRequired({ header: asked.header('payment-required'), body: asked.body() });
  const expected = { payee: deal.seller_wallet, amountUnits: deal.units, network: deal.network };
  try {
    const proof = await signProof(askingWallet(scene, payer, isRenewed), required, expected, client.environment);
    const answer = await client.buyListing({ params: { id: deal.id }, body: COLLECT, payment: proof.header });
    if (answer.status === 200) return answer.body;
    throw new TypeError('the payment for them is not final yet');
  } catch (error) {
    if (error instanceof MessageStale) return null;
    throw error;
  }
}

/** What has to be signed is told by a refusal. */
async function askTerms({ client, deal }: Scene): Promise<MarketError> {
  try {
    await client.buyListing({ params: { id: deal.id }, body: COLLECT });
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'payment_required') return error;
    throw error;
  }
  throw new TypeError('the market asked for no signature');
}

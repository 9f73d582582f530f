import type { Delivery } from '../../contract/listings.ts';
import { MarketError } from '../../sdk/errors.ts';
import { type CollectProof, signCollecting } from '../../sdk/payments/sign-to-collect.ts';
import { beginRecord } from '../purchase-record.ts';
import { type Address, WalletTrouble } from '../wallet-provider.ts';
import { askingWallet, MessageStale } from './ask-wallet.ts';
import type { Scene } from './scene.ts';
import { showDelivery, showRefusal } from './show-outcome.ts';

const MOST_MESSAGES = 15;
/** Below this the market takes no signature. */
const LEAST_LEFT_SECONDS = 25;
const COLLECT = { collect: true } as const;

/** The goods again by what is kept, without a signature. False where the market wants to see one. */
export async function collectByToken(scene: Scene, deliveryToken: string): Promise<boolean> {
  try {
    const answer = await askFor(scene, { body: COLLECT, deliveryToken });
    if (answer.status !== 200) return false;
    showDelivery(scene, answer.body);
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

type Shown = Omit<Parameters<Scene['client']['buyListing']>[0], 'params'>;

/** A market that has lost the purchase takes it back by the slip: the same is asked once more with it. */
async function askFor({ client, offer, keep }: Scene, shown: Shown) {
  const params = { id: offer.id };
  try {
    return await client.buyListing({ params, ...shown });
  } catch (error) {
    const recoverySlip = keep.record()?.recovery_slip ?? null;
    if (recoverySlip === null || !isRefusal(error)) throw error;
    return await client.buyListing({ params, ...shown, recoverySlip });
  }
}

/** What the same request would only meet again. */
function isRefusal(error: unknown): boolean {
  return error instanceof MarketError && error.status < 500 && error.status !== 429;
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
  const { client, offer } = scene;
  const asked = await askTerms(scene);
  const expected = { payee: offer.seller_wallet, amountUnits: offer.units, network: offer.network };
  const wallet = askingWallet(scene, payer, isRenewed);
  try {
    const proof = await signCollecting({ client, wallet, listingId: offer.id, expected, refusal: asked });
    return await sendUntilOut(scene, proof);
  } catch (error) {
    if (error instanceof MessageStale) return null;
    throw error;
  }
}

/** While the payment is not final the same signature is shown again, for as long as it is good. */
async function sendUntilOut(scene: Scene, { header, salt, valid_before: until }: CollectProof): Promise<Delivery> {
  const { client, screen } = scene;
  for (;;) {
    const answer = await askFor(scene, { body: { ...COLLECT, collect_salt: salt }, payment: header });
    if (answer.status === 200) return answer.body;
    const { retry_after_seconds: seconds } = answer.body;
    if (client.clock.now() / 1_000 + seconds > until - LEAST_LEFT_SECONDS) {
      throw new TypeError('the payment for them is under way and not final yet; come back and collect them later');
    }
    const text =
      'The payment is under way. The goods are handed over once it is final; the market is asked again by itself.';
    screen.show({ kind: 'waiting', title: 'Paid, and not final yet', text });
    await client.environment.sleep(seconds * 1_000);
  }
}

/** What has to be signed is told by a refusal. */
async function askTerms({ client, offer }: Scene): Promise<MarketError> {
  try {
    await client.buyListing({ params: { id: offer.id }, body: COLLECT });
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'payment_required') return error;
    throw error;
  }
  throw new TypeError('the market asked for no signature');
}

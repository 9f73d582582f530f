import type { Delivery } from '../../contract/listings.ts';
import { MarketError } from '../../sdk/errors.ts';
import { type CollectProof, signCollecting } from '../../sdk/payments/sign-to-collect.ts';
import { beginRecord } from '../purchase-record.ts';
import { type Address, WalletTrouble } from '../wallet-provider.ts';
import { MessageStale, walletOfPage } from './ask-wallet.ts';
import type { Scene } from './scene.ts';
import { showDelivery, showRefusal } from './show-outcome.ts';

const MAX_MESSAGES = 15;
/** The market's minimum of 20 seconds, plus time for the request. */
const MIN_LEFT_SECONDS = 25;
const COLLECT = { collect: true } as const;

/** Collects the goods with the saved token. Returns false if the market wants a signature. */
export async function collectByToken(scene: Scene, deliveryToken: string): Promise<boolean> {
  try {
    const answer = await requestGoods(scene, { body: COLLECT, deliveryToken });
    if (answer.status !== 200) return false;
    showDelivery(scene, answer.body);
    return true;
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

type CollectRequest = Omit<Parameters<Scene['client']['buyListing']>[0], 'params'>;

/** Requests the goods. After a refusal, retries once with the recovery slip, from which a market that lost the purchase restores it. */
async function requestGoods({ client, offer, store }: Scene, request: CollectRequest) {
  const params = { id: offer.id };
  try {
    return await client.buyListing({ params, ...request });
  } catch (error) {
    const recoverySlip = store.record()?.recovery_slip ?? null;
    if (recoverySlip === null || !isRefusal(error)) throw error;
    return await client.buyListing({ params, ...request, recoverySlip });
  }
}

/** Whether the same request would be refused again. */
function isRefusal(error: unknown): boolean {
  return error instanceof MarketError && error.status < 500 && error.status !== 429;
}

/** Collects the goods for the wallet that paid. The signature is sent with `collect` and stored nowhere. */
export async function collectBySignature(scene: Scene, payer: Address): Promise<void> {
  const { store, now } = scene;
  try {
    for (let round = 0; round < MAX_MESSAGES; round += 1) {
      const delivery = await collectOnce(scene, payer, round > 0);
      if (delivery === null) continue;
      if (store.record() === null) store.write({ ...beginRecord(payer, now()), phase: 'bought' });
      showDelivery(scene, delivery);
      return;
    }
    throw new WalletTrouble('stopped');
  } catch (error) {
    await showRefusal(scene, error, payer);
  }
}

async function collectOnce(scene: Scene, payer: Address, isRenewed: boolean): Promise<Delivery | null> {
  const { client, offer } = scene;
  const refusal = await requestTerms(scene);
  const expected = { payee: offer.seller_wallet, amountUnits: offer.units, network: offer.network };
  const wallet = walletOfPage(scene, payer, isRenewed);
  try {
    const proof = await signCollecting({ client, wallet, listingId: offer.id, expected, refusal });
    return await sendUntilDelivered(scene, proof);
  } catch (error) {
    if (error instanceof MessageStale) return null;
    throw error;
  }
}

/** Resends the same signature until the payment is final or the signature is about to expire. */
async function sendUntilDelivered(scene: Scene, proof: CollectProof): Promise<Delivery> {
  const { header, salt, valid_before: until } = proof;
  const { client, screen } = scene;
  for (;;) {
    const answer = await requestGoods(scene, { body: { ...COLLECT, collect_salt: salt }, payment: header });
    if (answer.status === 200) return answer.body;
    const { retry_after_seconds: seconds } = answer.body;
    if (client.clock.now() / 1_000 + seconds > until - MIN_LEFT_SECONDS) {
      throw new TypeError('the payment for them is under way and not final yet; come back and collect them later');
    }
    const text =
      'The payment is under way. The goods are handed over once it is final; the market is asked again by itself.';
    screen.show({ kind: 'waiting', title: 'Paid, and not final yet', text });
    await client.environment.sleep(seconds * 1_000);
  }
}

/** Returns the refusal that contains the terms to sign. */
async function requestTerms({ client, offer }: Scene): Promise<MarketError> {
  try {
    await client.buyListing({ params: { id: offer.id }, body: COLLECT });
  } catch (error) {
    if (error instanceof MarketError && error.reason === 'payment_required') return error;
    throw error;
  }
  throw new TypeError('the market asked for no signature');
}

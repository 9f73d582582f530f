import { ArtifactMismatch } from '../../sdk/payments/artifact-commitment.ts';
import { buy } from '../../sdk/payments/buy.ts';
import type { Progress } from '../../sdk/payments/payment-run.ts';
import { beginRecord, followProgress } from '../purchase-record.ts';
import { type Address, WalletTrouble } from '../wallet-provider.ts';
import { MessageStale, walletOfPage } from './ask-wallet.ts';
import type { Allowed, Scene } from './scene.ts';
import { showDelivery, showRefusal } from './show-outcome.ts';

/** Maximum number of messages shown in a row. Without it, an open page without a user would ask forever. */
const MAX_MESSAGES = 15;
/** In effect no limit (one week), because an open page should wait as long as the payment takes. */
const LONGEST_WAIT_SECONDS = 604_800;

/** Buys the goods, or continues an unfinished purchase. Only the tab that holds the lock may call it. */
export async function payAndCollect(scene: Scene, payer: Address, allowed: Allowed = {}): Promise<void> {
  const { store, now } = scene;
  try {
    const saved = await store.saved();
    if (saved === null) store.write(beginRecord(payer, now()));
    if (saved === null || scene.hasEnded) showAsking(scene);
    else showProgress(scene);
    for (let round = 0; round < MAX_MESSAGES; round += 1) {
      const delivery = await buyOnce(scene, payer, { isRenewed: round > 0, allowed });
      if (delivery === null) continue;
      showDelivery(scene, delivery);
      return;
    }
    throw new WalletTrouble('stopped');
  } catch (error) {
    if (error instanceof ArtifactMismatch) return showDelivery(scene, error.delivery(), error.actual);
    await showRefusal(scene, error, payer);
  }
}

/** Returns null if the message expired before it was signed. */
async function buyOnce(scene: Scene, payer: Address, how: { isRenewed: boolean; allowed: Allowed }) {
  const { client, offer, store } = scene;
  try {
    return await buy({
      ...{ client, listingId: offer.id, maxPriceUsdc: offer.price_usdc, network: offer.network },
      ...{ proofStore: store.proofs, maxWaitSeconds: LONGEST_WAIT_SECONDS, ...how.allowed },
      // Before it pays, the SDK may ask the user to sign for goods bought earlier. Allow this only for a newer version of goods; for other
      // goods there is a button.
      collectFirst: 'newer_versions',
      wallet: walletOfPage(scene, payer, how.isRenewed),
      onProgress: (progress) => recordProgress(scene, progress),
    });
  } catch (error) {
    if (error instanceof MessageStale) return null;
    throw error;
  }
}

function recordProgress(scene: Scene, progress: Progress): void {
  const { store, now, screen } = scene;
  const previous = store.record() ?? beginRecord(null, now());
  const record = followProgress(previous, progress, now());
  store.write(record);
  if (progress.phase === 'signed') scene.hasEnded = false;
  if (progress.reason === 'history_lost') showLost(scene);
  else if (progress.phase !== 'delivered') screen.show({ kind: 'progress', record }, progress.phase === 'signed');
}

/** Shows that the market has lost records. The stored proof is sent again, and nothing else is signed automatically. */
function showLost({ screen }: Scene): void {
  const text =
    'Its operator has to repair them. What you signed is kept in this browser and sent again by itself; nothing new is signed. Do not pay again.';
  screen.show({ kind: 'waiting', title: 'The market has lost some of its books', text });
}

function showAsking({ screen }: Scene): void {
  const text = 'The market says what is to be signed. Nothing is signed yet.';
  screen.show({ kind: 'waiting', title: 'Asking the market', text }, true);
}

function showProgress({ store, screen, now }: Scene): void {
  const record = store.record() ?? { ...beginRecord(null, now()), phase: 'paying' as const };
  screen.show({ kind: 'progress', record });
}

import { ArtifactMismatch } from '../../sdk/payments/artifact-commitment.ts';
import { buy } from '../../sdk/payments/buy.ts';
import type { Progress } from '../../sdk/payments/payment-run.ts';
import { beginRecord, followProgress } from '../purchase-record.ts';
import { type Address, WalletTrouble } from '../wallet-provider.ts';
import { askingWallet, MessageStale } from './ask-wallet.ts';
import type { Allowed, Scene } from './scene.ts';
import { showDelivery, showRefusal } from './show-outcome.ts';

/** A buyer who has left the page open is not asked for ever. */
const MOST_MESSAGES = 15;
/** A page that stays open waits as long as it takes. */
const LONGEST_WAIT_SECONDS = 604_800;

/**
 * Buys, or goes on with what was begun: the SDK's own purchase, with the person between its message and the wallet. To be called by the
 * one tab that holds the purchase.
 */
export async function payAndCollect(scene: Scene, payer: Address, allowed: Allowed = {}): Promise<void> {
  const { keep, now } = scene;
  try {
    const saved = await keep.saved();
    if (saved === null) keep.write(beginRecord(payer, now()));
    if (saved === null || scene.hasEnded) showAsking(scene);
    else showProgress(scene);
    for (let round = 0; round < MOST_MESSAGES; round += 1) {
      const delivery = await attempt(scene, payer, { isRenewed: round > 0, allowed });
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

/** Null where the message got too old before anything was signed. */
async function attempt(scene: Scene, payer: Address, how: { isRenewed: boolean; allowed: Allowed }) {
  const { client, offer, keep } = scene;
  try {
    return await buy({
      ...{ client, listingId: offer.id, maxPriceUsdc: offer.price_usdc, network: offer.network },
      ...{ proofStore: keep.proofs, maxWaitSeconds: LONGEST_WAIT_SECONDS, ...how.allowed },
      // Each signature is a question to a person; for goods without an older version there is the button of who has bought them.
      collectFirst: 'newer_versions',
      wallet: askingWallet(scene, payer, how.isRenewed),
      onProgress: (progress) => note(scene, progress),
    });
  } catch (error) {
    if (error instanceof MessageStale) return null;
    throw error;
  }
}

function note(scene: Scene, progress: Progress): void {
  const { keep, now, screen } = scene;
  const before = keep.record() ?? beginRecord(null, now());
  const record = followProgress(before, progress, now());
  keep.write(record);
  if (progress.phase === 'signed') scene.hasEnded = false;
  if (progress.reason === 'history_lost') showLost(scene);
  else if (progress.phase !== 'delivered') screen.show({ kind: 'progress', record }, progress.phase === 'signed');
}

/** What is kept is sent again and again; whatever the market says then, nothing else is signed by itself. */
function showLost({ screen }: Scene): void {
  const text =
    'Its operator has to repair them. What you signed is kept in this browser and sent again by itself; nothing new is signed. Do not pay again.';
  screen.show({ kind: 'waiting', title: 'The market has lost some of its books', text });
}

function showAsking({ screen }: Scene): void {
  const text = 'The market says what is to be signed. Nothing is signed yet.';
  screen.show({ kind: 'waiting', title: 'Asking the market', text }, true);
}

function showProgress({ keep, screen, now }: Scene): void {
  const record = keep.record() ?? { ...beginRecord(null, now()), phase: 'paying' as const };
  screen.show({ kind: 'progress', record });
}

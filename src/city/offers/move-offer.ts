import type { FoundTransfer } from '../../platform/chain/sighting.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { City } from '../context.ts';
import { decideClaim } from '../payments/decide-claim.ts';
import { moveThing } from '../things/store.ts';
import { applyAct } from './apply-act.ts';
import { chooseMove, type HeldOffer, type Move, type OpenClaim } from './choose-move.ts';
import { insertProof, listClaims, refuseClaim } from './claims/store.ts';
import { isOverdue } from './is-overdue.ts';
import { claimTermsOf, type Offer, type Reservation } from './offer.ts';
import type { OfferReading } from './read-offer.ts';
import { markLapsed, markSeen } from './reservations/store.ts';
import { lockOffer } from './store.ts';

/** What cannot be read of a claimed transaction holds up the next buyer for so long after the window, and no longer. */
const PATIENCE_SECONDS = 600n;

interface Held {
  offer: Offer & { phase: HeldOffer['phase'] };
  reservation: Reservation;
  now: Date;
}

/** Decides once more under the lock of the offer, and does one thing at most; what was named since the reading waits for the next. */
export async function moveOffer({ database, clock, log }: City, reading: OfferReading): Promise<void> {
  await database.transaction(async (tx) => {
    const offer = await lockOffer(tx, reading.offerId);
    if (offer === null || offer.reservation?.id !== reading.reservationId) return;
    const { phase, reservation } = offer;
    if (phase !== 'reserved' && phase !== 'payment_pending') return;
    const held = { offer: { ...offer, phase }, reservation, now: new Date(clock.now()) };
    const judged = await judgeClaims(tx, held, reading);
    const act = 'settled' in judged ? 'settle' : await move(tx, held, reading, judged.open);
    if (act !== null) tx.afterCommit(() => log.info('offer_moved', { offer_id: offer.id, act }));
  });
}

/** The first that is settled buys it; what pays for something else, or holds nothing, is refused and the offer goes on. */
async function judgeClaims(
  tx: Tx,
  held: Held,
  reading: OfferReading,
): Promise<{ settled: FoundTransfer } | { open: OpenClaim[] }> {
  const { offer, reservation, now } = held;
  const terms = claimTermsOf(offer, reservation);
  const open: OpenClaim[] = [];
  for (const { txHash, refused } of await listClaims(tx, reservation.id)) {
    if (refused !== null) continue;
    const evidence = reading.claims.get(txHash);
    if (evidence === undefined) {
      open.push({ txHash, decision: reading.asked.has(txHash) ? 'unread' : 'new' });
      continue;
    }
    const decision = decideClaim(evidence, terms);
    if (decision.outcome === 'refused') await refuseClaim(tx, reservation.id, txHash, decision.reason);
    else if (decision.outcome !== 'settled') open.push({ txHash, decision });
    else if (await insertProof(tx, reservation, decision.transfer, now)) {
      await settle(tx, held, decision.transfer);
      return { settled: decision.transfer };
    } else await refuseClaim(tx, reservation.id, txHash, 'transaction_used');
  }
  return { open };
}

/** Sold: the offer, its proof and the owner of the thing change together, or not at all. */
async function settle(tx: Tx, { offer, reservation, now }: Held, transfer: FoundTransfer): Promise<void> {
  await applyAct(tx, offer, 'settle', {
    txHash: transfer.txHash,
    blockNumber: transfer.blockNumber,
    blockTime: new Date(Number(transfer.blockTime) * 1_000),
    claimedAt: now,
  });
  await moveThing(tx, { thingId: offer.thingId, to: reservation.residentId, at: now, offerId: offer.id });
}

async function move(tx: Tx, held: Held, reading: OfferReading, claims: OpenClaim[]): Promise<Move['act']> {
  const { offer, reservation, now } = held;
  const { windowTo } = claimTermsOf(offer, reservation);
  const chosen = chooseMove({
    phase: offer.phase,
    claims,
    window: reading.window,
    isLongOver: reading.head !== null && reading.head.latest.timestamp >= windowTo + PATIENCE_SECONDS,
    seenTxHash: reservation.seenTxHash,
    isOverdue: isOverdue(offer, now.getTime()),
  });
  if ('seen' in chosen && chosen.seen !== null && reservation.seenTxHash === null) {
    await markSeen(tx, reservation.id, chosen.seen);
  }
  await take(tx, held, chosen);
  return chosen.act;
}

async function take(tx: Tx, { offer, reservation, now }: Held, chosen: Move): Promise<void> {
  switch (chosen.act) {
    case null:
      return;
    case 'find_invalid':
      return await applyAct(tx, offer, 'find_invalid', { endReason: chosen.reason });
    case 'await_payment':
      return await applyAct(tx, offer, 'await_payment', { pendingSince: now });
    case 'hand_to_founder':
      return await applyAct(tx, offer, 'hand_to_founder', { endReason: 'transfer_seen' });
    case 'expire':
      return await applyAct(tx, offer, 'expire', { endReason: 'no_transfer_seen' });
    case 'lapse':
      await markLapsed(tx, reservation.id, now);
      return await applyAct(tx, offer, 'lapse', { reservation: null });
  }
}

import type { OfferPhase } from '../../contract/world-records.ts';
import type { Hex } from '../../platform/hex.ts';
import type { ClaimDecision, InvalidReason } from '../payments/decide-claim.ts';
import type { WindowReading } from '../payments/find-transfer.ts';

/** What a claimed transaction amounts to. `unread`: the providers could not say. `new`: it was named after the chain was read. */
export interface OpenClaim {
  txHash: Hex;
  decision: Exclude<ClaimDecision, { outcome: 'settled' | 'refused' }> | 'unread' | 'new';
}

/** How a held offer stands of which no transaction is settled. */
export interface HeldOffer {
  phase: Extract<OfferPhase, 'reserved' | 'payment_pending'>;
  /** In the order in which they were named. */
  claims: readonly OpenClaim[];
  window: WindowReading;
  /** The window ended so long ago that nothing is waited for which could not be read since. */
  isLongOver: boolean;
  seenTxHash: Hex | null;
  /** Waited for as long as a payment is waited for. */
  isOverdue: boolean;
}

/** One step of OFFER_STEPS, or none; `seen`: a transfer that fits. */
export type Move =
  | { act: 'find_invalid'; reason: InvalidReason }
  | { act: 'await_payment' | 'hand_to_founder' | null; seen: Hex | null }
  | { act: 'lapse' | 'expire' };

/** What becomes of a held offer by what was read; pure. A settled transaction goes before all of it. */
export function chooseMove(offer: HeldOffer): Move {
  const { phase, claims, window, isOverdue } = offer;
  const fitting = claims.find(({ decision }) => isUnknown(decision) && decision.fits)?.txHash ?? null;
  const invalid = claims.flatMap(({ decision }) => (isInvalid(decision) ? [decision.reason] : []))[0];
  if (invalid !== undefined && fitting === null && claims.every(({ decision }) => typeof decision !== 'string')) {
    return { act: 'find_invalid', reason: invalid };
  }
  if (phase === 'payment_pending') {
    const seen = offer.seenTxHash ?? fitting ?? transferIn(window);
    if (!isOverdue) return { act: null, seen };
    return seen === null ? { act: 'expire' } : { act: 'hand_to_founder', seen };
  }
  if (claims.some(({ decision }) => isMined(decision))) return { act: 'await_payment', seen: fitting };
  if (typeof window === 'string') return { act: null, seen: null };
  if (window.transfer !== null) return { act: 'await_payment', seen: window.transfer };
  const isIdle = claims.every(({ decision }) => isAbsent(decision) || (offer.isLongOver && decision !== 'new'));
  return isIdle ? { act: 'lapse' } : { act: null, seen: null };
}

type Decision = OpenClaim['decision'];

function isUnknown(decision: Decision): decision is Extract<Decision, { outcome: 'unknown' }> {
  return typeof decision !== 'string' && decision.outcome === 'unknown';
}

function isInvalid(decision: Decision): decision is Extract<Decision, { outcome: 'invalid' }> {
  return typeof decision !== 'string' && decision.outcome === 'invalid';
}

/** In a block, and something of payer or payee is in it. */
function isMined(decision: Decision): boolean {
  return isInvalid(decision) || (isUnknown(decision) && decision.sighting !== null);
}

/** It is in no block, or in one with nothing of theirs: it does not stand in the way of the next buyer. */
function isAbsent(decision: Decision): boolean {
  if (!isUnknown(decision) || decision.sighting !== null) return false;
  return decision.why === 'not_mined' || decision.why === 'not_final' || decision.why === 'no_finalized_head';
}

function transferIn(window: WindowReading): Hex | null {
  return typeof window === 'string' ? null : window.transfer;
}

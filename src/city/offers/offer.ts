import { RECOVERY_HOURS } from '../../contract/vocabulary.ts';
import type { OfferPhase } from '../../contract/world-records.ts';
import type { Hex } from '../../platform/hex.ts';
import type { ClaimTerms } from '../payments/decide-claim.ts';

/** Gives one resident's wallet five minutes to pay. Only the last two fields change. */
export interface Reservation {
  id: bigint;
  offerId: bigint;
  residentId: bigint;
  handle: string;
  marketCheckoutId: bigint;
  marketBuyer: string;
  payerWallet: Hex;
  reservedAt: Date;
  reservedUntil: Date;
  /** Finalized block when the reservation was made. */
  openedBlock: bigint;
  nonce: string;
  challenge: string;
  /** A fitting transfer that was in a block, at least for a moment. */
  seenTxHash: Hex | null;
  lapsedAt: Date | null;
}

export interface Offer {
  id: bigint;
  thingId: bigint;
  thingName: string;
  sellerId: bigint;
  seller: string;
  priceUnits: bigint;
  sellerWallet: Hex;
  marketOrigin: string;
  marketDraftId: bigint;
  marketSeller: string;
  chainId: bigint;
  asset: Hex;
  phase: OfferPhase;
  marketListingId: bigint | null;
  /** The current reservation, or the one that decided the offer. */
  reservation: Reservation | null;
  pendingSince: Date | null;
  /** The transaction that bought the thing. */
  txHash: Hex | null;
  blockNumber: bigint | null;
  blockTime: Date | null;
  endReason: string | null;
  createdAt: Date;
  claimedAt: Date | null;
  canceledAt: Date | null;
}

/** Returns the terms that a transfer must meet to buy the thing. */
export function claimTermsOf(offer: Offer, reservation: Reservation): ClaimTerms & { openedBlock: bigint } {
  return {
    chainId: offer.chainId,
    asset: offer.asset,
    payer: reservation.payerWallet,
    payee: offer.sellerWallet,
    minimumUnits: offer.priceUnits,
    windowFrom: secondsOf(reservation.reservedAt),
    windowTo: secondsOf(reservation.reservedUntil),
    openedBlock: reservation.openedBlock,
  };
}

function secondsOf(at: Date): bigint {
  return BigInt(Math.floor(at.getTime() / 1_000));
}

/** Retry time while it is unknown when the chain passes the reservation's end or a payment is decided. */
const UNKNOWN_SECONDS = 30;

/** Returns the seconds that another buyer should wait before trying again. */
export function reservedForSeconds({ phase, reservation }: Offer, nowMs: number): number {
  if (phase !== 'reserved' || reservation === null) return UNKNOWN_SECONDS;
  const left = Math.ceil((reservation.reservedUntil.getTime() - nowMs) / 1_000);
  return left > 0 ? left : UNKNOWN_SECONDS;
}

/** True once the city has stopped waiting for the payment. */
export function isOverdue({ pendingSince }: Pick<Offer, 'pendingSince'>, nowMs: number): boolean {
  return pendingSince !== null && nowMs - pendingSince.getTime() >= RECOVERY_HOURS * 3_600_000;
}

import { RECOVERY_HOURS } from '../../contract/vocabulary.ts';
import type { OfferPhase } from '../../contract/world-records.ts';
import type { Hex } from '../../platform/hex.ts';
import type { ClaimTerms } from '../payments/decide-claim.ts';

/** Five minutes in which one resident's wallet may pay. All but the last two never changes. */
export interface Reservation {
  id: bigint;
  offerId: bigint;
  residentId: bigint;
  /** The resident's. */
  handle: string;
  marketCheckoutId: bigint;
  marketBuyer: string;
  payerWallet: Hex;
  reservedAt: Date;
  reservedUntil: Date;
  /** The finalized block when it was made. */
  openedBlock: bigint;
  nonce: string;
  challenge: string;
  /** A transfer that fits was seen in a block, be it for a moment. */
  seenTxHash: Hex | null;
  lapsedAt: Date | null;
}

export interface Offer {
  id: bigint;
  thingId: bigint;
  thingName: string;
  sellerId: bigint;
  /** The resident's handle. */
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
  /** The one that holds it, or that ended it. */
  reservation: Reservation | null;
  pendingSince: Date | null;
  /** The transfer that bought it. */
  txHash: Hex | null;
  blockNumber: bigint | null;
  blockTime: Date | null;
  endReason: string | null;
  createdAt: Date;
  claimedAt: Date | null;
  canceledAt: Date | null;
}

/** What a transfer has to be to buy it. */
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

/** Until the chain is past the reservation, or a payment has been decided: how long that takes is unknown. */
const UNKNOWN_SECONDS = 30;

/** For how many seconds another buyer need not ask again. */
export function reservedForSeconds({ phase, reservation }: Offer, nowMs: number): number {
  if (phase !== 'reserved' || reservation === null) return UNKNOWN_SECONDS;
  const left = Math.ceil((reservation.reservedUntil.getTime() - nowMs) / 1_000);
  return left > 0 ? left : UNKNOWN_SECONDS;
}

/** Whether its payment was waited for as long as the city waits. */
export function isOverdue({ pendingSince }: Pick<Offer, 'pendingSince'>, nowMs: number): boolean {
  return pendingSince !== null && nowMs - pendingSince.getTime() >= RECOVERY_HOURS * 3_600_000;
}

import { RESERVATION_MINUTES } from '../../../contract/vocabulary.ts';
import type { OfferOut } from '../../../contract/world-records.ts';
import { type Hex, isHex } from '../../../platform/hex.ts';
import type { Checkout } from '../checkouts/store.ts';
import type { ReservationFault } from './decide-sale.ts';

/** What a claimed offer says of its buyer and of the reservation. The city's word, and nothing more. */
export interface CityClaim {
  buyer: string;
  marketBuyer: string;
  checkoutId: bigint;
  buyerWallet: Hex;
  txHash: Hex;
  /** Milliseconds. */
  reservedAt: number;
  reservedUntil: number;
  claimedAt: Date;
}

/** When the first listing of a city can have been made, and how far a city's clock may be ahead: what lies outside is no time. */
const EARLIEST_MS = Date.UTC(2020, 0, 1);
const AHEAD_MS = 86_400_000;

/** Null for a record that says claimed and does not say by whom, how or when. */
export function readClaim(offer: OfferOut, nowMs: number): CityClaim | null {
  const wallet = offer.buyer_wallet?.toLowerCase();
  const { buyer, market_buyer: marketBuyer, market_checkout_id: checkoutId, tx_hash: txHash } = offer;
  const times = [offer.reserved_at, offer.reserved_until, offer.claimed_at].map((time) => Date.parse(time ?? ''));
  const [reservedAt = 0, reservedUntil = 0, claimedAt = 0] = times;
  const isTimely = times.every((time) => time >= EARLIEST_MS && time <= nowMs + AHEAD_MS);
  if (!isHex(wallet, 20) || !isHex(txHash, 32) || !isTimely) return null;
  if (buyer === null || marketBuyer === null || checkoutId === null) return null;
  return {
    buyer,
    marketBuyer,
    checkoutId: BigInt(checkoutId),
    buyerWallet: wallet,
    txHash,
    reservedAt,
    reservedUntil,
    claimedAt: new Date(claimedAt),
  };
}

/** The two sites have clocks of their own, and the city takes the earlier of its clock and the chain's. */
const CLOCKS_APART_MS = 60_000;
const RESERVATION_MS = RESERVATION_MINUTES * 60_000;

/** In what the reservation is none of that checkout: pure. */
export function judgeReservation(
  claim: CityClaim,
  listing: { id: bigint; sellerWallet: Hex },
  checkout: Checkout | null,
): ReservationFault | null {
  const isOfCheckout =
    checkout?.listingId === listing.id &&
    checkout.marketBuyer === claim.marketBuyer &&
    checkout.cityHandle === claim.buyer;
  if (!isOfCheckout) return 'checkout_mismatch';
  const { reservedAt, reservedUntil } = claim;
  if (reservedUntil - reservedAt !== RESERVATION_MS || reservedAt % 1_000 !== 0) return 'reservation_mismatch';
  const from = checkout.createdAt.getTime() - CLOCKS_APART_MS;
  const to = checkout.expiresAt.getTime() + CLOCKS_APART_MS;
  if (reservedAt <= from || reservedAt >= to) return 'reservation_mismatch';
  // Moved from one pocket to the other, it pays for nothing.
  return claim.buyerWallet === listing.sellerWallet ? 'own_goods' : null;
}

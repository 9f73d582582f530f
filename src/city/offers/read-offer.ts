import { RpcFailure } from '../../platform/chain/rpc.ts';
import type { Hex } from '../../platform/hex.ts';
import type { City } from '../context.ts';
import { type ClaimTerms, decideClaim } from '../payments/decide-claim.ts';
import { findTransfer, type WindowReading } from '../payments/find-transfer.ts';
import { type ClaimReading, readClaims } from '../payments/read-evidence.ts';
import type { ChainHead } from '../payments/read-head.ts';
import { listClaims } from './claims/store.ts';
import { isOverdue } from './is-overdue.ts';
import { claimTermsOf, type Offer, type Reservation } from './offer.ts';

/** What the chain shows of a held offer, read outside of any transaction. */
export interface OfferReading {
  offerId: bigint;
  reservationId: bigint;
  /** Null while it cannot be read. */
  head: ChainHead | null;
  /** The undecided transactions that were asked for. */
  asked: ReadonlySet<Hex>;
  claims: ClaimReading;
  window: WindowReading;
}

export async function readOffer(
  city: City,
  offer: Offer,
  reservation: Reservation,
  readHead: () => Promise<ChainHead>,
): Promise<OfferReading> {
  const named = await listClaims(city.database, reservation.id);
  const asked = named.flatMap(({ txHash, refused }) => (refused === null ? [txHash] : []));
  const reading = { offerId: offer.id, reservationId: reservation.id, asked: new Set(asked) };
  const terms = claimTermsOf(offer, reservation);
  let head: ChainHead;
  try {
    head = await readHead();
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { ...reading, head: null, claims: new Map(), window: 'unreadable' };
  }
  const claims = await readClaims(city, head, terms, asked);
  const isWindowOfInterest =
    offer.phase === 'reserved'
      ? !decidesAnything(claims, terms)
      : reservation.seenTxHash === null && isOverdue(offer, city.clock.now());
  return { ...reading, head, claims, window: isWindowOfInterest ? await findTransfer(city, head, terms) : 'not_over' };
}

/** Then whatever else lies in the window makes no difference. */
function decidesAnything(claims: ClaimReading, terms: ClaimTerms): boolean {
  return [...claims.values()].some((evidence) => {
    const decision = decideClaim(evidence, terms);
    return decision.outcome === 'unknown' ? decision.sighting !== null : decision.outcome !== 'refused';
  });
}

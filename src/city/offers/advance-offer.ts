import type { CityEndpoints } from '../../contract/city.ts';
import type { OfferPhase } from '../../contract/world-records.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import type { FoundTransfer } from '../../platform/chain/sighting.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { City, CityOperation, Resident } from '../context.ts';
import { type ClaimDecision, type ClaimTerms, decideClaim, type InvalidReason } from '../payments/decide-claim.ts';
import { findTransfer, type WindowReading } from '../payments/find-transfer.ts';
import { type ChainHead, type ClaimReading, readClaims, readHead } from '../payments/read-evidence.ts';
import { insertProof, listClaims, refuseClaim } from '../payments/store.ts';
import { moveThing } from '../things/store.ts';
import { claimTermsOf, isOverdue, type Offer, type Reservation, reservedForSeconds } from './offer.ts';
import { applyAct, nextPhase } from './offer-steps.ts';
import { presentOffer } from './present-offer.ts';
import { findOffer, lockOffer, markLapsed, markSeen, mustFindOffer } from './store.ts';

/**
 * Moves an offer because of what is on the chain. No other function does this. First reads offer and chain outside any transaction. Then
 * one transaction locks the offer and decides on its state at that time. Returns null unless the offer is reserved or its payment pending.
 */
export async function advanceOffer(
  city: City,
  offerId: bigint,
  readHeadNow: () => Promise<ChainHead> = () => readHead(city),
): Promise<OfferReading | null> {
  const offer = await findOffer(city.database, offerId);
  if (offer === null || offer.reservation === null) return null;
  if (offer.phase !== 'reserved' && offer.phase !== 'payment_pending') return null;
  const reading = await readOfferOnChain(city, offer, offer.reservation, readHeadNow);
  await moveOffer(city, reading);
  return reading;
}

/** A claimed transaction that cannot be read blocks the next buyer for this many seconds after the window. */
const UNREADABLE_CLAIM_SECONDS = 600n;

interface ReservedRow {
  offer: Offer & { phase: ReservedOffer['phase'] };
  reservation: Reservation;
  now: Date;
}

/** Decides again under the offer's lock and takes at most one step. Transactions claimed after the reading wait for the next call. */
async function moveOffer({ database, clock, log }: City, reading: OfferReading): Promise<void> {
  await database.transaction(async (tx) => {
    const offer = await lockOffer(tx, reading.offerId);
    if (offer === null || offer.reservation?.id !== reading.reservationId) return;
    const { phase, reservation } = offer;
    if (phase !== 'reserved' && phase !== 'payment_pending') return;
    const row = { offer: { ...offer, phase }, reservation, now: new Date(clock.now()) };
    const judged = await judgeClaims(tx, row, reading);
    const act = 'paid' in judged ? 'sell' : await moveUnpaid(tx, row, reading, judged.open);
    if (act !== null) tx.afterCommit(() => log.info('offer_state_changed', { offer_id: offer.id, act }));
  });
}

/**
 * Sells the thing to the first transaction that pays. Refuses a transaction that has bought something else, or contains no transfer by the
 * payer or to the payee. The offer then stays open.
 */
async function judgeClaims(
  tx: Tx,
  row: ReservedRow,
  reading: OfferReading,
): Promise<{ paid: FoundTransfer } | { open: OpenClaim[] }> {
  const { offer, reservation, now } = row;
  const terms = claimTermsOf(offer, reservation);
  const open: OpenClaim[] = [];
  for (const { txHash, refused } of await listClaims(tx, reservation.id)) {
    if (refused !== null) continue;
    const evidence = reading.claims.get(txHash);
    if (evidence === undefined) {
      open.push({ txHash, decision: reading.requested.has(txHash) ? 'unread' : 'new' });
      continue;
    }
    const decision = decideClaim(evidence, terms);
    if (decision.outcome === 'refused') await refuseClaim(tx, reservation.id, txHash, decision.reason);
    else if (decision.outcome !== 'paid') open.push({ txHash, decision });
    else if (await insertProof(tx, reservation, decision.transfer, now)) {
      await closeOffer(tx, row, decision.transfer);
      return { paid: decision.transfer };
    } else await refuseClaim(tx, reservation.id, txHash, 'transaction_used');
  }
  return { open };
}

/** Records the sale. The offer, its proof and the owner of the thing change together or not at all. */
async function closeOffer(tx: Tx, { offer, reservation, now }: ReservedRow, transfer: FoundTransfer): Promise<void> {
  await applyAct(tx, offer, 'sell', {
    txHash: transfer.txHash,
    blockNumber: transfer.blockNumber,
    blockTime: new Date(Number(transfer.blockTime) * 1_000),
    claimedAt: now,
  });
  await moveThing(tx, { thingId: offer.thingId, to: reservation.residentId, at: now, offerId: offer.id });
}

async function moveUnpaid(tx: Tx, row: ReservedRow, reading: OfferReading, claims: OpenClaim[]): Promise<Move['act']> {
  const { offer, reservation, now } = row;
  const { windowTo } = claimTermsOf(offer, reservation);
  const chosen = chooseMove({
    phase: offer.phase,
    claims,
    window: reading.window,
    isLongOver: reading.head !== null && reading.head.latest.timestamp >= windowTo + UNREADABLE_CLAIM_SECONDS,
    seenTxHash: reservation.seenTxHash,
    isOverdue: isOverdue(offer, now.getTime()),
  });
  if ('seen' in chosen && chosen.seen !== null && reservation.seenTxHash === null) {
    await markSeen(tx, reservation.id, chosen.seen);
  }
  await takeStep(tx, row, chosen);
  return chosen.act;
}

async function takeStep(tx: Tx, { offer, reservation, now }: ReservedRow, chosen: Move): Promise<void> {
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

/** The state of a claimed transaction. `unread`: the providers did not answer. `new`: claimed after the chain was read. */
export interface OpenClaim {
  txHash: Hex;
  decision: Exclude<ClaimDecision, { outcome: 'paid' | 'refused' }> | 'unread' | 'new';
}

export interface ReservedOffer {
  phase: Extract<OfferPhase, 'reserved' | 'payment_pending'>;
  claims: readonly OpenClaim[];
  window: WindowReading;
  /** True if the window ended so long ago that unreadable claims no longer block the next buyer. */
  isLongOver: boolean;
  seenTxHash: Hex | null;
  isOverdue: boolean;
}

/** `act` is a step of OFFER_STEPS, or null for none. `seen` is a transfer that fits. */
export type Move =
  | { act: 'find_invalid'; reason: InvalidReason }
  | { act: 'await_payment' | 'hand_to_founder' | null; seen: Hex | null }
  | { act: 'lapse' | 'expire' };

/** Chooses the next step of a reserved or pending offer. Pure. Call it only if no transaction has paid. */
export function chooseMove(offer: ReservedOffer): Move {
  const { phase, claims, window, isOverdue } = offer;
  const fitting = claims.find(({ decision }) => isUnknown(decision) && decision.fits)?.txHash ?? null;
  const invalid = claims.flatMap(({ decision }) => (isInvalid(decision) ? [decision.reason] : []))[0];
  if (invalid !== undefined && fitting === null && claims.every(({ decision }) => typeof decision !== 'string')) {
    return { act: 'find_invalid', reason: invalid };
  }
  if (phase === 'payment_pending') {
    const seen = offer.seenTxHash ?? fitting ?? transferInWindow(window);
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

/** True if the transaction is in a block and contains a transfer by the payer or to the payee. */
function isMined(decision: Decision): boolean {
  return isInvalid(decision) || (isUnknown(decision) && decision.sighting !== null);
}

/** True if the transaction is in no block, or has no transfer by the payer or to the payee, so it does not block the next buyer. */
function isAbsent(decision: Decision): boolean {
  if (!isUnknown(decision) || decision.sighting !== null) return false;
  return decision.why === 'not_mined' || decision.why === 'not_final' || decision.why === 'no_finalized_head';
}

function transferInWindow(window: WindowReading): Hex | null {
  return typeof window === 'string' ? null : window.transfer;
}

/** Chain data for a reserved or pending offer, read outside any database transaction. */
export interface OfferReading {
  offerId: bigint;
  reservationId: bigint;
  /** Null if no head could be read. */
  head: ChainHead | null;
  /** Undecided transactions whose evidence was requested. */
  requested: ReadonlySet<Hex>;
  claims: ClaimReading;
  window: WindowReading;
}

async function readOfferOnChain(
  city: City,
  offer: Offer,
  reservation: Reservation,
  readHead: () => Promise<ChainHead>,
): Promise<OfferReading> {
  const claimRows = await listClaims(city.database, reservation.id);
  const requested = claimRows.flatMap(({ txHash, refused }) => (refused === null ? [txHash] : []));
  const reading = { offerId: offer.id, reservationId: reservation.id, requested: new Set(requested) };
  const terms = claimTermsOf(offer, reservation);
  let head: ChainHead;
  try {
    head = await readHead();
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return { ...reading, head: null, claims: new Map(), window: 'unreadable' };
  }
  const claims = await readClaims(city, head, terms, requested);
  const isWindowOfInterest =
    offer.phase === 'reserved'
      ? !hasDecidingClaim(claims, terms)
      : reservation.seenTxHash === null && isOverdue(offer, city.clock.now());
  return { ...reading, head, claims, window: isWindowOfInterest ? await findTransfer(city, head, terms) : 'not_over' };
}

/** True if a claim decides the offer, or will once its block is final. Then other transfers in the window need not be searched for. */
function hasDecidingClaim(claims: ClaimReading, terms: ClaimTerms): boolean {
  return [...claims.values()].some((evidence) => {
    const decision = decideClaim(evidence, terms);
    return decision.outcome === 'unknown' ? decision.sighting !== null : decision.outcome !== 'refused';
  });
}

/** POST /api/world/offer/:id/cancel. Frees the offer first if its reservation is over, and refuses if one is active. */
export const cancelOffer: CityOperation<CityEndpoints['cancelOffer']> = async (city, { params, caller }) => {
  const offer = await mustFindOffer(city.database, params.id);
  mustBeSeller(offer, caller);
  if (offer.phase === 'reserved' || offer.phase === 'payment_pending') await advanceOffer(city, offer.id);
  await cancelUnderLock(city, offer.id);
  return { status: 200, body: { offer: presentOffer(city, await mustFindOffer(city.database, offer.id)) } };
};

function mustBeSeller(offer: Offer, caller: Resident): void {
  if (offer.sellerId !== caller.id) throw new Refusal('not_offer_seller');
}

async function cancelUnderLock({ database, clock }: City, id: bigint): Promise<void> {
  await database.transaction(async (tx) => {
    const offer = await lockOffer(tx, id);
    if (offer === null || offer.phase === 'canceled') return;
    if (offer.phase === 'claimed') throw new Refusal('offer_closed', { detail: 'The thing has been sold.' });
    const now = clock.now();
    if (nextPhase(offer.phase, 'cancel') === null) {
      throw new Refusal('offer_busy', { retryAfterSeconds: reservedForSeconds(offer, now) });
    }
    await applyAct(tx, offer, 'cancel', { canceledAt: new Date(now) });
  });
}

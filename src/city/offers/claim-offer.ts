import { hashMessage } from 'viem/utils';
import type { CityEndpoints } from '../../contract/city.ts';
import type { AnswerOf } from '../../contract/endpoint.ts';
import { readCode, readReceipt } from '../../platform/chain/reads.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import { recoverSigner } from '../../platform/chain/signature.ts';
import { canonicalForm, findAcceptedForm } from '../../platform/chain/signature-forms.ts';
import type { Tx } from '../../platform/database/database.ts';
import type { Hex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import { type City, type CityOperation, type Resident, takeHourlyQuota } from '../context.ts';
import { readHead } from '../payments/read-evidence.ts';
import { type Claim, dropClaim, findProvenOffer, insertClaim, listClaims, MAX_CLAIMS } from '../payments/store.ts';
import { advanceOffer, type OfferReading } from './advance-offer.ts';
import type { Offer, Reservation } from './offer.ts';
import { presentOffer } from './present-offer.ts';
import { lockOffer, mustFindOffer } from './store.ts';

type Answer = AnswerOf<CityEndpoints['claimOffer']>;

const MIN_RETRY_SECONDS = 2;
const MAX_RETRY_SECONDS = 30;

/**
 * POST /api/world/offer/:id/claim. Answers at once if the offer is decided. Otherwise checks the signature, stores the claim, and only then
 * reads the claimed transaction. An accepted claim is checked until one of the reservation's transactions decides.
 */
export const claimOffer: CityOperation<CityEndpoints['claimOffer']> = async (city, { params, body, caller }) => {
  const { database } = city;
  await takeHourlyQuota(city, 'claims_per_resident_hour', caller);
  const offer = await mustFindOffer(database, params.id);
  const reservation = mustHold(offer, caller);
  const decided = answerDecided(city, offer);
  if (decided !== null) return decided;
  await checkSignature(city, reservation, body.payer_signature);
  const bought = await findProvenOffer(database, body.tx_hash);
  if (bought !== null && bought !== offer.id) throw new Refusal('transaction_used');
  await storeClaim(city, reservation, body.tx_hash);
  const reading = await advanceOffer(city, offer.id);
  return answerClaim(city, caller, { offerId: offer.id, txHash: body.tx_hash, reading });
};

/** Returns the offer's current or deciding reservation. Throws unless it is the caller's. */
function mustHold({ reservation }: Offer, caller: Resident): Reservation {
  if (reservation === null || reservation.residentId !== caller.id) throw new Refusal('reservation_over');
  return reservation;
}

/** Returns the final answer, or null while the offer is undecided. */
function answerDecided(city: City, offer: Offer): Answer | null {
  const shown = presentOffer(city, offer);
  switch (offer.phase) {
    case 'claimed':
      return { status: 200, body: { offer: shown, do_not_pay_again: true } };
    case 'payment_invalid':
      throw new Refusal('world_payment_invalid', {
        detail: `The transfer does not match the reservation: ${offer.endReason}.`,
        fields: { offer: shown },
      });
    case 'reserved':
    case 'payment_pending':
      return null;
    default:
      throw new Refusal('offer_closed', { fields: { offer: shown } });
  }
}

interface ClaimResult {
  offerId: bigint;
  txHash: Hex;
  reading: OfferReading | null;
}

async function answerClaim(city: City, caller: Resident, result: ClaimResult): Promise<Answer> {
  const { offerId, txHash, reading } = result;
  const offer = await mustFindOffer(city.database, offerId);
  const reservation = mustHold(offer, caller);
  const decided = answerDecided(city, offer);
  if (decided !== null) return decided;
  const claims = await listClaims(city.database, reservation.id);
  mustNotBeRefused(offer, claims, txHash);
  // The chain could not be read, so "not seen" would be misleading.
  if (offer.phase === 'reserved' && !isRead(city, result)) {
    throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
  }
  const retryAfter = retryAfterOf(city, reading, txHash);
  const body = {
    offer: presentOffer(city, offer),
    status: 'payment_pending',
    do_not_pay_again: true,
    retry: 'same_request',
    retry_after_seconds: retryAfter,
    next_step: 'The claim is not decided yet. Send it again unchanged after retry_after_seconds. Do not pay again.',
  } as const;
  return { status: 202, body, headers: { 'retry-after': retryAfter.toString() } };
}

function mustNotBeRefused(offer: Offer, claims: readonly Claim[], txHash: Hex): void {
  const refused = claims.find((claim) => claim.txHash === txHash)?.refused ?? null;
  if (refused === null) return;
  if (refused === 'transaction_used') throw new Refusal('transaction_used');
  // Another undecided transaction may be the one that pays.
  const mayHavePaid = offer.phase === 'payment_pending' || claims.some((claim) => claim.refused === null);
  throw new Refusal('transfer_not_found', mayHavePaid ? { doNotPayAgain: true } : {});
}

function isRead({ config }: City, { reading, txHash }: ClaimResult): boolean {
  return (
    reading?.head?.chainId === config.network.chainId && (reading.claims.has(txHash) || !reading.requested.has(txHash))
  );
}

/** Returns a quarter of the estimated seconds until the block is final. */
function retryAfterOf({ config }: City, reading: OfferReading | null, txHash: Hex): number {
  const block = reading?.claims.get(txHash)?.receipt?.blockNumber;
  const head = reading?.head ?? null;
  if (block === undefined || head === null || head.floor === null) return MIN_RETRY_SECONDS;
  const seconds = (Math.max(0, Number(block - head.floor.number)) * config.network.blockSeconds) / 4;
  return Math.min(MAX_RETRY_SECONDS, Math.max(MIN_RETRY_SECONDS, Math.ceil(seconds)));
}

/** Checks that the payer's wallet signed the challenge: with its own key, or as a contract at the finalized block. */
async function checkSignature(
  city: City,
  { challenge, payerWallet }: Pick<Reservation, 'challenge' | 'payerWallet'>,
  sentSignature: string,
): Promise<void> {
  // Upper and lower case hex encode the same bytes.
  const signature = sentSignature.toLowerCase() as Hex;
  const digest = hashMessage(challenge);
  if ((await recoverSigner(digest, canonicalForm(signature))) === payerWallet) return;
  try {
    const { provider, chainId } = await readHead(city);
    if (chainId !== city.config.network.chainId) throw new Refusal('payment_preserved', { retryAfterSeconds: 10 });
    const hasCode = (await readCode(provider, payerWallet, 'finalized')) !== '0x';
    const question = { wallet: payerWallet, digest, signature };
    if (hasCode && (await findAcceptedForm(provider, question, { block: 'finalized' })) !== null) return;
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
  throw new Refusal('signature_invalid', {
    detail: 'This is not payer_wallet’s signature of the reservation’s challenge.',
    nextStep: 'Sign the exact challenge of the reservation with payer_wallet (personal_sign), then claim again.',
  });
}

/**
 * Stores a claimed transaction in its own database transaction, so that it is checked whatever happens next. Refuses one that has bought
 * another thing. Stores nothing if the reservation is over by then; the caller rereads the offer. At the cap of undecided claims, drops the
 * oldest one whose transaction is in no block. If all their transactions are in blocks, the new claim is not stored and must be sent again.
 */
async function storeClaim(city: City, { id, offerId }: Reservation, txHash: Hex): Promise<void> {
  const { database, clock } = city;
  const toDrop = await listDispensable(city, id, txHash);
  await database.transaction(async (tx) => {
    const offer = await lockOffer(tx, offerId);
    if (offer === null || offer.reservation?.id !== id) return;
    if (offer.phase !== 'reserved' && offer.phase !== 'payment_pending') return;
    const bought = await findProvenOffer(tx, txHash);
    if (bought !== null) throw new Refusal('transaction_used');
    const claims = await listClaims(tx, id);
    if (claims.some((claim) => claim.txHash === txHash)) return;
    const undecided = claims.filter(({ refused }) => refused === null).map((claim) => claim.txHash);
    if (undecided.length >= MAX_CLAIMS && !(await makeRoom(tx, id, undecided, toDrop))) return;
    await insertClaim(tx, id, txHash, new Date(clock.now()));
  });
}

async function makeRoom(
  tx: Tx,
  reservationId: bigint,
  undecided: readonly Hex[],
  toDrop: ReadonlySet<Hex>,
): Promise<boolean> {
  const oldest = undecided.find((hash) => toDrop.has(hash));
  if (oldest === undefined) return false;
  await dropClaim(tx, reservationId, oldest);
  return true;
}

/** If the cap is reached, lists the undecided transactions that are in no block. Reads the chain, so call it outside any transaction. */
async function listDispensable(city: City, reservationId: bigint, txHash: Hex): Promise<ReadonlySet<Hex>> {
  const claims = await listClaims(city.database, reservationId);
  const undecided = claims.filter(({ refused }) => refused === null).map((claim) => claim.txHash);
  if (undecided.length < MAX_CLAIMS || claims.some((claim) => claim.txHash === txHash)) return new Set();
  try {
    const { provider } = await readHead(city);
    const receipts = await Promise.all(undecided.map((hash) => readReceipt(provider, hash)));
    return new Set(undecided.filter((_, at) => receipts[at] === null));
  } catch (error) {
    // The new claim cannot be stored, and earlier claims must not be dropped unread.
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
}

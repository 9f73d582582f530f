import { readReceipt } from '../../../platform/chain/reads.ts';
import { RpcFailure } from '../../../platform/chain/rpc.ts';
import type { Tx } from '../../../platform/database/database.ts';
import type { Hex } from '../../../platform/hex.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { City } from '../../context.ts';
import { readHead } from '../../payments/read-head.ts';
import type { Reservation } from '../offer.ts';
import { lockOffer } from '../store.ts';
import { dropClaim, findProvenOffer, insertClaim, listClaims, MOST_CLAIMS } from './store.ts';

/**
 * Puts a transaction among those that the reservation names, in a transaction of its own: whatever happens afterwards, it is looked at.
 * It is refused where it has bought another thing. If the reservation is over by then, nothing is named, and the caller rereads the
 * offer. Beyond five, the oldest that is in no block makes room; where all are in blocks it has to wait.
 */
export async function nameClaim(city: City, { id, offerId }: Reservation, txHash: Hex): Promise<void> {
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
    if (undecided.length >= MOST_CLAIMS && !(await makeRoom(tx, id, undecided, toDrop))) return;
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

/** Of five undecided ones those that are in no block. Asked outside of any transaction. */
async function listDispensable(city: City, reservationId: bigint, txHash: Hex): Promise<ReadonlySet<Hex>> {
  const claims = await listClaims(city.database, reservationId);
  const undecided = claims.filter(({ refused }) => refused === null).map((claim) => claim.txHash);
  if (undecided.length < MOST_CLAIMS || claims.some((claim) => claim.txHash === txHash)) return new Set();
  try {
    const { provider } = await readHead(city);
    const receipts = await Promise.all(undecided.map((hash) => readReceipt(provider, hash)));
    return new Set(undecided.filter((_, at) => receipts[at] === null));
  } catch (error) {
    // It cannot be stored, and what was named before is not given up for it.
    if (error instanceof RpcFailure) throw new Refusal('payment_preserved', { retryAfterSeconds: 5 });
    throw error;
  }
}

import { RpcFailure } from '../../../platform/chain/rpc.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { City } from '../../context.ts';
import { type ChainHead, readHead } from '../../payments/read-head.ts';

const MOST_DRIFT_MS = 30_000;

/** When a reservation may begin, and the block that is final by then. */
export interface ReservationTime {
  reservedAt: Date;
  openedBlock: bigint;
}

/**
 * The earlier of our clock and the chain's, in whole seconds, so that no transfer made after the answer lies before it. 503 where the two
 * disagree, since the transfer's block time decides.
 */
export async function readReservationTime(city: City): Promise<ReservationTime> {
  const { chainId, latest, floor } = await mustReadHead(city);
  // No payment may begin by another chain's time, nor by that of a chain that took back what was final.
  if (chainId !== city.config.network.chainId || floor === null) {
    throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 10 });
  }
  const now = city.clock.now();
  const chain = Number(latest.timestamp) * 1_000;
  if (Math.abs(now - chain) > MOST_DRIFT_MS) throw new Refusal('chain_clock', { retryAfterSeconds: 5 });
  return { reservedAt: new Date(Math.floor(Math.min(now, chain) / 1_000) * 1_000), openedBlock: floor.number };
}

async function mustReadHead(city: City): Promise<ChainHead> {
  try {
    return await readHead(city);
  } catch (error) {
    if (error instanceof RpcFailure) throw new Refusal('payment_check_unavailable', { retryAfterSeconds: 2 });
    throw error;
  }
}

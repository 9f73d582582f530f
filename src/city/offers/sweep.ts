import { createSingleFlight, createSingletonJob, repeatTask } from '../../platform/background-jobs.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import type { City } from '../context.ts';
import { type ChainHead, readHead } from '../payments/read-evidence.ts';
import { advanceOffer } from './advance-offer.ts';
import { listUndecidedOffers, type OpenOffer } from './store.ts';

const BATCH = 100;

export interface Sweep {
  start(): void;
  stop(): Promise<void>;
  /** Checks all reserved and pending offers once, even if this process is not the leader. */
  sweepOnce(): Promise<void>;
  isLeader(): boolean;
}

/**
 * Creates the singleton job that calls `advanceOffer` for every offer that may move. All state is in the database, so another process can
 * take over if this one dies. Two processes that do it at once do no harm.
 */
export function createSweep(city: City, everyMs: number): Sweep {
  const { clock, database, log } = city;
  const singleFlight = createSingleFlight(() => sweepOffers(city));
  const job = createSingletonJob({
    database,
    clock,
    log,
    name: 'sweep_offers',
    run: (signal) => repeatTask(city, { name: 'sweep_offers', act: singleFlight.fresh, everyMs }, signal),
  });
  return {
    start: job.start,
    stop: async () => {
      await job.stop();
      await singleFlight.ended();
    },
    sweepOnce: singleFlight.fresh,
    isLeader: job.isLeader,
  };
}

async function sweepOffers(city: City): Promise<void> {
  // Decide nothing while history is lost, because nothing could be written.
  if (city.isLost()) return;
  // Read the head once for all offers, and only if there are any.
  let head: Promise<ChainHead> | null = null;
  const readOnce = (): Promise<ChainHead> => {
    head ??= readHead(city);
    return head;
  };
  for (let after = 0n; ; ) {
    const batch = await listUndecidedOffers(city.database, after, BATCH);
    for (const offer of batch) await sweepOffer(city, offer, readOnce);
    const last = batch.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}

async function sweepOffer(city: City, offer: OpenOffer, readOnce: () => Promise<ChainHead>): Promise<void> {
  try {
    if (await mayMove(city, offer, readOnce)) await advanceOffer(city, offer.id, readOnce);
  } catch (error) {
    // One failing offer must not delay the others.
    city.log.error('offer_sweep_failed', { offer_id: offer.id, error });
  }
}

/** False for an active reservation without claims, which cannot move. Uses the chain's clock too, because it may be ahead of ours. */
async function mayMove({ clock }: City, offer: OpenOffer, readOnce: () => Promise<ChainHead>): Promise<boolean> {
  if (offer.phase !== 'reserved' || offer.hasClaims) return true;
  const endsAt = offer.reservedUntil.getTime();
  if (clock.now() >= endsAt) return true;
  try {
    const { latest } = await readOnce();
    return Number(latest.timestamp) * 1_000 >= endsAt;
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
    return false;
  }
}

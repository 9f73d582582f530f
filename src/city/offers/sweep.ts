import { createSingleFlight, createSingletonJob } from '../../platform/background-jobs.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import type { City } from '../context.ts';
import { type ChainHead, readHead } from '../payments/read-evidence.ts';
import { advanceOffer } from './advance-offer.ts';
import { listUndecidedOffers, type OpenOffer } from './store.ts';

const BATCH = 100;

export interface Sweep {
  start(): void;
  stop(): Promise<void>;
  /** One look at all of them, whether or not this process is the leader. */
  sweepOnce(): Promise<void>;
  /** Whether this process is the one that does it. */
  isLeader(): boolean;
}

/**
 * Moves every held offer on by what the chain shows, as a singleton job. What is to be done is written in the rows, so that
 * another process goes on where one has died; two at once do no harm.
 */
export function createSweep(city: City, everyMs: number): Sweep {
  const { clock, database, log } = city;
  const passes = createSingleFlight(() => sweep(city));
  const job = createSingletonJob({
    database,
    clock,
    log,
    name: 'sweep_offers',
    run: async (signal) => {
      while (!signal.aborted) {
        try {
          await passes.fresh();
        } catch (error) {
          log.error('background_failed', { name: 'sweep_offers', error });
        }
        await clock.sleep(everyMs, signal);
      }
    },
  });
  return {
    start: job.start,
    stop: async () => {
      await job.stop();
      await passes.ended();
    },
    sweepOnce: passes.fresh,
    isLeader: job.isLeader,
  };
}

async function sweep(city: City): Promise<void> {
  // From books that lack a part nothing is decided, and nothing could be written.
  if (city.isLost()) return;
  // Read once for all, and only if there is anything to look at.
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
    // The others must not wait for what ails this one.
    city.log.error('offer_sweep_failed', { offer_id: offer.id, error });
  }
}

/** A reservation that runs, with nothing claimed, stays as it is: by the chain's clock, which may be ahead of ours. */
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

import { createSingletonJob, repeatTask } from '../../../platform/background-jobs.ts';
import type { Market } from '../../context.ts';
import type { Payments } from '../../payments/payments.ts';
import { CityUnavailable, cityOrigin } from '../city.ts';
import { listDue, noteChecked } from './store.ts';
import { syncListing } from './sync-world.ts';

/** Longer than a checkout, a reservation and the city's two-hour recovery together, so everything a checkout began has ended by then. */
const CHECKOUT_COUNTS_MS = 3 * 3_600_000;
/** How often listings that nobody is about to buy are checked, to see whether the offer still exists. */
const OTHERS_EVERY_MS = 600_000;

export interface WorldSyncJob {
  start(): void;
  stop(): Promise<void>;
  /** Checks everything that is due, whether or not this process is the leader. */
  syncOnce(): Promise<void>;
  isLeader(): boolean;
}

/** Syncs listings in the background, so that a sale is recorded even if nobody asks. Runs in one process at a time. */
export function createWorldSyncJob(market: Market, payments: Payments, everyMs: number): WorldSyncJob {
  const { database, clock, log } = market;
  const neverAborted = new AbortController().signal;

  async function syncDue(signal: AbortSignal): Promise<void> {
    const now = clock.now();
    const due = await listDue(database, {
      cityOrigin: cityOrigin(market),
      checkoutSince: new Date(now - CHECKOUT_COUNTS_MS),
      lookedBefore: new Date(now - OTHERS_EVERY_MS),
    });
    for (const id of due) {
      if (signal.aborted || (await syncOne(id)) === 'silent') return;
    }
  }

  /** Syncs one listing. A failure does not stop the round, but a silent city does. */
  async function syncOne(id: bigint): Promise<'silent' | 'answered'> {
    try {
      await syncListing(market, payments, id);
    } catch (error) {
      const trouble = error instanceof CityUnavailable ? error.trouble : null;
      if (trouble === null) log.error('world_sync_failed', { listing_id: id, error });
      await noteChecked(database, id, new Date(clock.now()));
      if (trouble === 'silent') return 'silent';
    }
    return 'answered';
  }

  const job = createSingletonJob({
    ...{ database, clock, log, name: 'world' },
    run: (signal) => repeatTask(market, { name: 'world', act: () => syncDue(signal), everyMs }, signal),
  });
  return {
    start: () => job.start(),
    stop: () => job.stop(),
    syncOnce: () => syncDue(neverAborted),
    isLeader: () => job.isLeader(),
  };
}

import { createSingletonJob } from '../../../platform/background-jobs.ts';
import type { Market } from '../../context.ts';
import type { Payments } from '../../payments/payments.ts';
import { CityUnavailable, cityOrigin } from '../city.ts';
import { listDue, noteChecked } from './store.ts';
import { syncListing } from './sync-world.ts';

/** A checkout, a reservation and two hours of recovery in the city: by then whatever it began has ended, and some time more. */
const CHECKOUT_COUNTS_MS = 3 * 3_600_000;
/** For a listing that no buyer is about to buy, it is enough to check now and then whether the offer still exists. */
const OTHERS_EVERY_MS = 600_000;

export interface WorldPass {
  start(): void;
  stop(): Promise<void>;
  /** One look at everything that is due. */
  passOnce(): Promise<void>;
  /** Whether this process is the one that does it. */
  isLeader(): boolean;
}

/** Does by itself what a sync does, so that a sale is recorded whether or not anybody asks. A job of one process at a time. */
export function createWorldPass(market: Market, payments: Payments, everyMs: number): WorldPass {
  const { database, clock, log } = market;
  const never = new AbortController().signal;

  async function pass(signal: AbortSignal): Promise<void> {
    const now = clock.now();
    const due = await listDue(database, {
      cityOrigin: cityOrigin(market),
      checkoutSince: new Date(now - CHECKOUT_COUNTS_MS),
      lookedBefore: new Date(now - OTHERS_EVERY_MS),
    });
    for (const id of due) {
      if (signal.aborted || (await lookAt(id)) === 'silent') return;
    }
  }

  /** The others must not wait for what ails one, nor a city that says nothing be asked about each. */
  async function lookAt(id: bigint): Promise<'silent' | 'heard'> {
    try {
      await syncListing(market, payments, id);
    } catch (error) {
      const trouble = error instanceof CityUnavailable ? error.trouble : null;
      if (trouble === null) log.error('world_sync_failed', { listing_id: id, error });
      await noteChecked(database, id, new Date(clock.now()));
      if (trouble === 'silent') return 'silent';
    }
    return 'heard';
  }

  async function repeat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await pass(signal);
      } catch (error) {
        log.error('background_failed', { name: 'world', error });
      }
      await clock.sleep(everyMs, signal);
    }
  }

  const job = createSingletonJob({ database, clock, log, name: 'world', run: repeat });
  return {
    start: () => job.start(),
    stop: () => job.stop(),
    passOnce: () => pass(never),
    isLeader: () => job.isLeader(),
  };
}

import { createSingletonJob, type SingletonJob } from '../../../platform/background-jobs.ts';
import type { Database, Queryable } from '../../../platform/database/database.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { REPEAT_WINDOW_MS } from '../read-goods.ts';
import { type Fingerprint, fingerprintOf } from './fingerprint.ts';
import { findAlike, replaceFingerprint, takeOldFingerprints } from './store.ts';

/**
 * Refuses goods that nearly equal those of a listing. The last call before listing must be under the lock `listings`, or two concurrent
 * requests could both pass.
 */
export async function checkNear(
  queryable: Queryable,
  market: Pick<Market, 'clock'>,
  fingerprint: Fingerprint | null,
  exempt: readonly bigint[],
): Promise<void> {
  if (fingerprint === null) return;
  const withdrawnSince = new Date(market.clock.now() - REPEAT_WINDOW_MS);
  const alike = await findAlike(queryable, fingerprint, { exempt, withdrawnSince });
  if (alike !== null) throw duplicateOf(alike);
}

/** Names only the other listing and not the similarity, because the guard must not help to guess hidden goods. */
export function duplicateOf(listingId: bigint): Refusal {
  return new Refusal('duplicate_listing', {
    detail: `Listing ${listingId} has the same goods, or nearly the same.`,
    fields: { listing_id: Number(listingId) },
  });
}

/** Small, because other requests wait while these fingerprints are computed. */
const BATCH = 10;
const EVERY_MS = 60_000;

/** Recomputes fingerprints of older rules and returns how many. One transaction per batch, so that a stop loses at most one batch. */
export async function renewFingerprints(database: Database, signal?: AbortSignal): Promise<number> {
  let count = 0;
  for (;;) {
    const renewed = await database.transaction(async (tx) => {
      const old = await takeOldFingerprints(tx, BATCH);
      for (const { listingId, content } of old) replaceFingerprint(tx, listingId, fingerprintOf(content));
      return old.length;
    });
    count += renewed;
    if (renewed < BATCH || signal?.aborted === true) return count;
  }
}

type RenewalMarket = Pick<Market, 'database' | 'clock' | 'log'>;

/** Runs repeatedly, because a process of the previous version may still be writing. */
export function createFingerprintRenewal({ database, clock, log }: RenewalMarket): SingletonJob {
  return createSingletonJob({
    database,
    clock,
    log,
    name: 'renew_shapes',
    run: async (signal) => {
      while (!signal.aborted) {
        try {
          const count = await renewFingerprints(database, signal);
          if (count > 0) log.info('fingerprints_renewed', { count });
        } catch (error) {
          log.error('fingerprint_renewal_failed', { error });
        }
        await clock.sleep(EVERY_MS, signal);
      }
    },
  });
}

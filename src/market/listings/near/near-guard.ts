import { createSingletonJob, type SingletonJob } from '../../../platform/background-jobs.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { Database, Queryable } from '../../../platform/database/database.ts';
import type { Log } from '../../../platform/log.ts';
import { Refusal } from '../../../platform/refusal.ts';
import type { Market } from '../../context.ts';
import { MEMORY_MS } from '../read-goods.ts';
import { type Shape, shapeOf } from './shape.ts';
import { findAlike, replaceShape, takeOldShapes } from './store.ts';

/**
 * Refuses goods that are nearly those of a listing (W6). Who is about to make or change a listing asks under the lock `listings`: there
 * every rival is either seen or comes later, and sees.
 */
export async function checkNear(
  queryable: Queryable,
  market: Pick<Market, 'clock'>,
  shape: Shape | null,
  exempt: readonly bigint[],
): Promise<void> {
  if (shape === null) return;
  const withdrawnSince = new Date(market.clock.now() - MEMORY_MS);
  const alike = await findAlike(queryable, shape, { exempt, withdrawnSince });
  if (alike !== null) throw duplicateOf(alike);
}

/** Names the other listing and nothing about it, nor how alike it is: the guard must not serve to guess hidden goods. */
export function duplicateOf(listingId: bigint): Refusal {
  return new Refusal('duplicate_listing', {
    detail: `Listing ${listingId} has the same goods, or nearly the same.`,
    fields: { listing_id: Number(listingId) },
  });
}

/** Other requests wait for as long as these are made. */
const BATCH = 10;
const EVERY_MS = 60_000;

/** Makes the shapes of earlier rules again, and says how many there were. Each batch is a transaction, so that a stop costs no more than one. */
export async function renewShapes(database: Database, signal?: AbortSignal): Promise<number> {
  let count = 0;
  for (;;) {
    const renewed = await database.transaction(async (tx) => {
      const old = await takeOldShapes(tx, BATCH);
      for (const { listingId, content } of old) replaceShape(tx, listingId, shapeOf(content));
      return old.length;
    });
    count += renewed;
    if (renewed < BATCH || signal?.aborted === true) return count;
  }
}

/** Looks again later: a process of the version before may still be writing. */
export function createShapeRenewal({
  database,
  clock,
  log,
}: {
  database: Database;
  clock: Clock;
  log: Log;
}): SingletonJob {
  return createSingletonJob({
    database,
    clock,
    log,
    name: 'renew_shapes',
    run: async (signal) => {
      while (!signal.aborted) {
        try {
          const count = await renewShapes(database, signal);
          if (count > 0) log.info('fingerprints_renewed', { count });
        } catch (error) {
          log.error('fingerprint_renewal_failed', { error });
        }
        await clock.sleep(EVERY_MS, signal);
      }
    },
  });
}

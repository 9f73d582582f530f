import { UPLOAD_HOURS, UPLOAD_MEMORY_DAYS } from '../../../contract/uploads.ts';
import { createSingletonJob, type SingletonJob } from '../../../platform/background-jobs.ts';
import type { ObjectStore } from '../../../platform/object-store.ts';
import type { Market } from '../../context.ts';
import { type GoodsFacts, readGoodsFacts } from './goods-facts.ts';
import * as store from './store.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const EVERY_MS = 60_000;
/** Objects without a reference are rare, and finding them reads every object. Facts for the metrics are counted as rarely. */
const SWEEP_EVERY_MS = HOUR_MS;
const COUNT_EVERY_MS = 5 * 60_000;
/** Longer than any transaction that creates an object takes. */
const UNREFERENCED_AFTER_MS = DAY_MS;
/** A store that fails to delete is asked again after this time. */
const POSTPONED_MS = HOUR_MS;

const UPLOADS_AT_ONCE = 100;
/** 32 MiB of chunks. Keeps transactions short. */
const CHUNKS_AT_ONCE = 64;
const DELETIONS_AT_ONCE = 100;
const STORE_CALLS_AT_ONCE = 8;
const FORGOTTEN_AT_ONCE = 1_000;

type Pruned = Pick<Market, 'database' | 'clock' | 'log' | 'objectStore'>;

export interface PruneOptions {
  /** Also looks for objects without any reference. */
  withSweep?: boolean;
  signal?: AbortSignal;
}

/**
 * Ends expired uploads, deletes objects without any reference, deletes due objects of the S3 store, and forgets uploads that ended long ago.
 * Safe beside requests: a row that a listing, a fee or a writer has locked is left to the next run.
 */
export async function pruneGoods(market: Pruned, { withSweep = true, signal }: PruneOptions = {}): Promise<void> {
  const { database, clock } = market;
  if (await store.isHistoryLost(database)) return;
  const now = new Date(clock.now());
  const isStopped = (): boolean => signal?.aborted === true;
  await store.releaseEnded(database, new Date(now.getTime() + UPLOAD_HOURS * HOUR_MS));
  await repeatWhileFull(UPLOADS_AT_ONCE, isStopped, async (most) => {
    const objects = await store.endExpired(database, now, most);
    for (const id of objects) await deleteInParts(market, id, isStopped);
    return objects.length;
  });
  if (withSweep) {
    const createdBefore = new Date(now.getTime() - UNREFERENCED_AFTER_MS);
    await repeatWhileFull(UPLOADS_AT_ONCE, isStopped, async (most) => {
      const objects = await store.findUnreferenced(database, createdBefore, most);
      for (const id of objects) await deleteInParts(market, id, isStopped);
      return objects.length;
    });
  }
  await deleteDue(market, now, isStopped);
  const endedBefore = new Date(now.getTime() - UPLOAD_MEMORY_DAYS * DAY_MS);
  await repeatWhileFull(FORGOTTEN_AT_ONCE, isStopped, (most) => store.forgetUploads(database, endedBefore, most));
}

/** Repeats a batch until it is not full. */
async function repeatWhileFull(
  most: number,
  isStopped: () => boolean,
  act: (most: number) => Promise<number>,
): Promise<void> {
  while (!isStopped() && (await act(most)) === most);
}

async function deleteInParts({ database, clock }: Pruned, objectId: bigint, isStopped: () => boolean): Promise<void> {
  const part = { now: new Date(clock.now()), most: CHUNKS_AT_ONCE };
  while (!isStopped() && (await database.transaction((tx) => store.deletePart(tx, objectId, part))));
}

/** Deletes due objects of the S3 store: first in the store, then the row, so that a killed process forgets none. */
async function deleteDue(market: Pruned, now: Date, isStopped: () => boolean): Promise<void> {
  const { database, log, objectStore } = market;
  await repeatWhileFull(DELETIONS_AT_ONCE, isStopped, async (most) => {
    const due = await store.readDueDeletions(database, now, most);
    if (due.length === 0) return 0;
    if (objectStore === null) {
      log.warn('goods_store_missing', { due: due.length });
      return 0;
    }
    const unused = due.filter(({ used }) => !used).map(({ s3_name: name }) => name);
    const failed = await deleteNames(market, objectStore, unused);
    const isDone = ({ s3_name: name }: store.DueDeletion): boolean => !failed.includes(name);
    await store.forgetDeletions(
      database,
      due.filter(isDone).map(({ s3_name: name }) => name),
    );
    if (failed.length === 0) return due.length;
    await store.postponeDeletions(database, failed, new Date(now.getTime() + POSTPONED_MS));
    return 0;
  });
}

/** Deletes objects of the S3 store. Returns the names that it failed to delete. */
export async function deleteNames(
  { log }: Pick<Market, 'log'>,
  objectStore: ObjectStore,
  names: readonly string[],
): Promise<string[]> {
  const failed: string[] = [];
  for (let start = 0; start < names.length; start += STORE_CALLS_AT_ONCE) {
    const group = names.slice(start, start + STORE_CALLS_AT_ONCE);
    const outcomes = await Promise.allSettled(group.map((name) => objectStore.delete(name)));
    for (const [at, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') continue;
      failed.push(group[at] ?? '');
      log.warn('goods_deletion_failed', { name: group[at], error: outcome.reason });
    }
    // Do not ask a store that is away once for each name.
    if (outcomes.every(({ status }) => status === 'rejected'))
      return [...failed, ...names.slice(start + STORE_CALLS_AT_ONCE)];
  }
  return failed;
}

export interface GoodsPruning extends SingletonJob {
  /** Returns the leader's last counts. Null in other processes. */
  facts(): GoodsFacts | null;
}

export function createGoodsPruning(market: Pruned): GoodsPruning {
  const { database, clock, log } = market;
  let counted: GoodsFacts | null = null;
  const job = createSingletonJob({
    database,
    clock,
    log,
    name: 'prune_goods',
    run: async (signal) => {
      let [sweptAt, countedAt] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY];
      while (!signal.aborted) {
        const now = clock.now();
        try {
          const withSweep = now - sweptAt >= SWEEP_EVERY_MS;
          await pruneGoods(market, { withSweep, signal });
          if (withSweep) sweptAt = now;
          if (now - countedAt >= COUNT_EVERY_MS) {
            counted = await readGoodsFacts(database, new Date(now));
            countedAt = now;
          }
        } catch (error) {
          log.error('goods_prune_failed', { error });
        }
        await clock.sleep(EVERY_MS, signal);
      }
    },
  });
  return { ...job, facts: () => (job.isLeader() ? counted : null) };
}

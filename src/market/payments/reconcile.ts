import { createSingletonJob } from '../../platform/background-jobs.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import type { Market } from '../context.ts';
import type { FollowedHead } from './chain/read-head.ts';
import { listWithMore } from './paths/direct/store.ts';
import type { Payment } from './payment.ts';
import { listOpenPayments } from './store.ts';

const BATCH = 250;
/** A lost machine or network may leave the lock with a session whose client is gone. The pass only reads, so another process makes it too. */
const STAND_IN_EVERY_MS = 60_000;

type SettleMany = (payments: readonly Payment[], head: FollowedHead) => Promise<void>;

/**
 * Moves every open payment on that the chain allows. It reads, it never submits: two at a time do no harm. What is mined and not final
 * is read again only after a reorganisation: see read-and-decide.ts.
 */
export function createPass(
  market: Market,
  settleMany: SettleMany,
  readHead: () => Promise<FollowedHead>,
): () => Promise<void> {
  async function settleAll(list: typeof listOpenPayments, readOnce: () => Promise<FollowedHead>): Promise<void> {
    let after = 0n;
    for (;;) {
      const batch = await list(market.database, after, BATCH);
      const last = batch.at(-1);
      if (last === undefined) return;
      try {
        await settleMany(batch, await readOnce());
      } catch (error) {
        // The other batches must not wait for what ails this one.
        if (error instanceof RpcFailure) market.log.warn('chain_unreadable', { error });
        else market.log.error('payment_batch_failed', { count: batch.length, error });
      }
      after = last.id;
    }
  }

  return async () => {
    let head: Promise<FollowedHead> | null = null;
    // Once for a pass, and not at all where nothing is undecided.
    const readOnce = (): Promise<FollowedHead> => (head ??= readHead());
    for (const list of [listOpenPayments, listWithMore]) await settleAll(list, readOnce);
  };
}

/** Periodic work in addition to the pass, in the leader: the one process that holds the lock. */
export interface Chore {
  name: string;
  act(): Promise<unknown>;
  everyMs: number;
}

interface ReconcilerWork {
  pass(): Promise<void>;
  /** What a follower does now and then; the pass, where it is left out. */
  followerPass?(): Promise<void>;
  chores?: readonly Chore[];
}

/**
 * The background work on payments, from start to stop, by one leader at a time. Trouble is logged and the next tick tries
 * again: an attempt is never given up on.
 */
export function createReconciler(
  market: Market,
  { pass, followerPass = pass, chores = [] }: ReconcilerWork,
  everyMs: number,
) {
  const stopping = new AbortController();
  const { database, clock, log } = market;
  let followerLoop: Promise<void> | null = null;

  /** Each goes at its own pace: a facilitator that lets the deadline pass must not hold up the payments. */
  async function repeat(
    name: string,
    act: () => Promise<unknown>,
    everyMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      try {
        await act();
      } catch (error) {
        log.error('background_failed', { name, error });
      }
      await clock.sleep(everyMs, signal);
    }
  }

  const job = createSingletonJob({
    database,
    clock,
    log,
    name: 'reconcile',
    run: async (signal) => {
      await Promise.all([
        repeat('reconcile', pass, everyMs, signal),
        ...chores.map((chore) => repeat(chore.name, chore.act, chore.everyMs, signal)),
      ]);
    },
  });

  /** A follower looks once in a while all the same: the holder may be frozen, and then its lock is not freed. */
  const passAsFollower = async (): Promise<void> => {
    await clock.sleep(STAND_IN_EVERY_MS, stopping.signal);
    if (stopping.signal.aborted) return;
    const unlessLeader = async (): Promise<void> => (job.isLeader() ? undefined : await followerPass());
    await repeat('reconcile', unlessLeader, STAND_IN_EVERY_MS, stopping.signal);
  };

  return {
    start(): void {
      if (stopping.signal.aborted) return;
      followerLoop ??= passAsFollower();
      job.start();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all([followerLoop, job.stop()]);
    },
    /** Whether this process is the one that does it. */
    isLeader: () => job.isLeader(),
  };
}

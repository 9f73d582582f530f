import { createSingletonJob, repeatTask } from '../../platform/background-jobs.ts';
import { RpcFailure } from '../../platform/chain/rpc.ts';
import type { Market } from '../context.ts';
import type { FollowedHead } from './chain/read-head.ts';
import { listWithUndecided } from './paths/direct/store.ts';
import type { Payment } from './payment.ts';
import { listOpenPayments } from './store.ts';

const BATCH = 250;
/**
 * If a machine or network is lost, the lock may remain with a dead session. A round submits nothing, so other processes can run one as
 * well.
 */
const FOLLOWER_EVERY_MS = 60_000;

type ReadAndDecideMany = (payments: readonly Payment[], head: FollowedHead) => Promise<void>;

/**
 * Returns a round that advances every open payment as far as the chain allows. It reads the chain, decides and never submits, so two
 * concurrent rounds do no harm. A payment that is mined is read again only once it is final or after a reorganisation (see
 * read-and-decide.ts).
 */
export function createReconcileRound(
  market: Market,
  readAndDecideMany: ReadAndDecideMany,
  readHead: () => Promise<FollowedHead>,
): () => Promise<void> {
  async function decideAll(list: typeof listOpenPayments, readOnce: () => Promise<FollowedHead>): Promise<void> {
    let after = 0n;
    for (;;) {
      const batch = await list(market.database, after, BATCH);
      const last = batch.at(-1);
      if (last === undefined) return;
      try {
        await readAndDecideMany(batch, await readOnce());
      } catch (error) {
        // One failing batch must not hold up the others.
        if (error instanceof RpcFailure) market.log.warn('chain_unreadable', { error });
        else market.log.error('payment_batch_failed', { count: batch.length, error });
      }
      after = last.id;
    }
  }

  return async () => {
    let head: Promise<FollowedHead> | null = null;
    // Read the head once per round, and only if something is undecided.
    const readOnce = (): Promise<FollowedHead> => (head ??= readHead());
    for (const list of [listOpenPayments, listWithUndecided]) await decideAll(list, readOnce);
  };
}

/** Periodic work that only the leader does, besides the rounds over open payments. */
export interface PeriodicTask {
  name: string;
  act(): Promise<unknown>;
  everyMs: number;
}

interface ReconcilerWork {
  pass(): Promise<void>;
  /** Runs periodically in followers; defaults to `pass`. */
  followerRound?(): Promise<void>;
  chores?: readonly PeriodicTask[];
}

/** Runs the background work on payments, in one leader at a time. After a failure, the next round tries again. */
export function createReconciler(
  market: Market,
  { pass, followerRound = pass, chores = [] }: ReconcilerWork,
  everyMs: number,
) {
  const stopping = new AbortController();
  const { database, clock, log } = market;
  let followerLoop: Promise<void> | null = null;

  const job = createSingletonJob({
    database,
    clock,
    log,
    name: 'reconcile',
    run: async (signal) => {
      // Each task has its own loop, so that a slow facilitator does not hold up the payments.
      const tasks = [{ name: 'reconcile', act: pass, everyMs }, ...chores];
      await Promise.all(tasks.map((task) => repeatTask(market, task, signal)));
    },
  });

  /** Followers also run a round periodically, because a frozen leader keeps its lock. */
  const runAsFollower = async (): Promise<void> => {
    await clock.sleep(FOLLOWER_EVERY_MS, stopping.signal);
    if (stopping.signal.aborted) return;
    const unlessLeader = async (): Promise<void> => (job.isLeader() ? undefined : await followerRound());
    const task = { name: 'reconcile', act: unlessLeader, everyMs: FOLLOWER_EVERY_MS };
    await repeatTask(market, task, stopping.signal);
  };

  return {
    start(): void {
      if (stopping.signal.aborted) return;
      followerLoop ??= runAsFollower();
      job.start();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all([followerLoop, job.stop()]);
    },
    isLeader: () => job.isLeader(),
  };
}

import type { Market } from '../context.ts';
import { refreshSigners } from './facilitator/refresh-signers.ts';
import { listOpenPayments, type Payment } from './store.ts';

const BATCH = 50;
const SIGNERS_EVERY_MS = 60_000;

/** What is mined and not final is read again only in every tenth pass: a reorganisation shows then. */
const YOUNG_EVERY = 10;
/** A lost machine or network may leave the lock with a session that nobody listens to. The pass only reads, so it goes on without. */
const LOCK_PATIENCE_MS = 60_000;

type SettleMany = (payments: readonly Payment[], options: { skipYoung: boolean }) => Promise<void>;

/** Moves every open payment on that the chain allows; as a rule one pass at a time over all processes. It reads, it never submits. */
export function createPass(market: Market, settleMany: SettleMany): () => Promise<void> {
  let passes = 0;
  let refusedSince: number | null = null;

  async function pass(): Promise<void> {
    passes += 1;
    const skipYoung = passes % YOUNG_EVERY !== 0;
    let after = 0n;
    for (;;) {
      const batch = await listOpenPayments(market.database, after, BATCH);
      const last = batch.at(-1);
      if (last === undefined) return;
      for (const payments of byAsset(batch)) await settleBatch(payments, skipYoung);
      after = last.id;
    }
  }

  async function settleBatch(payments: readonly Payment[], skipYoung: boolean): Promise<void> {
    try {
      await settleMany(payments, { skipYoung });
    } catch (error) {
      // The other batches must not wait for what ails this one.
      market.log.error('batch_not_settled', { count: payments.length, error });
    }
  }

  return async () => {
    const now = market.clock.now();
    const held = await market.database.exclusively('reconcile', pass);
    if (held !== null) {
      refusedSince = null;
      return;
    }
    refusedSince ??= now;
    if (now - refusedSince < LOCK_PATIENCE_MS) return;
    market.log.warn('reconcile_without_lock', { waited_ms: now - refusedSince });
    await pass();
  };
}

function byAsset(payments: readonly Payment[]): Payment[][] {
  return [...Map.groupBy(payments, (payment) => payment.asset).values()];
}

/** The background pass, from start to stop. Trouble is logged and the next tick tries again: an attempt is never given up on. */
export function createReconciler(market: Market, pass: () => Promise<void>, everyMs: number) {
  const stopping = new AbortController();
  let loops: Promise<unknown> | null = null;

  /** Each goes at its own pace: a facilitator that lets the deadline pass must not hold up the payments. */
  async function repeat(what: string, act: () => Promise<unknown>, everyMs: number): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await act();
      } catch (error) {
        market.log.error('background_failed', { name: what, error });
      }
      await market.clock.sleep(everyMs, stopping.signal);
    }
  }

  return {
    start(): void {
      loops ??= Promise.all([
        repeat('reconcile', pass, everyMs),
        repeat('signers', () => refreshSigners(market), SIGNERS_EVERY_MS),
      ]);
    },
    async stop(): Promise<void> {
      stopping.abort();
      await loops;
    },
  };
}

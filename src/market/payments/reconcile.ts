import type { Market } from '../context.ts';
import { refreshSigners } from './facilitator/refresh-signers.ts';
import { listOpenPayments, type Payment } from './store.ts';

const BATCH = 50;
const SIGNERS_EVERY_MS = 60_000;

type SettleMany = (payments: readonly Payment[]) => Promise<void>;

/** Moves every open payment on that the chain allows; one pass at a time over all processes. It reads, it never submits. */
export async function reconcileOnce(market: Market, settleMany: SettleMany): Promise<void> {
  await market.database.exclusively('reconcile', async () => {
    let after = 0n;
    for (;;) {
      const batch = await listOpenPayments(market.database, after, BATCH);
      const last = batch.at(-1);
      if (last === undefined) return;
      for (const payments of byAsset(batch)) await settleMany(payments);
      after = last.id;
    }
  });
}

function byAsset(payments: readonly Payment[]): Payment[][] {
  return [...Map.groupBy(payments, (payment) => payment.asset).values()];
}

/** The background pass, from start to stop. Trouble is logged and the next tick tries again: an attempt is never given up on. */
export function createReconciler(market: Market, settleMany: SettleMany, everyMs: number) {
  const stopping = new AbortController();
  let loop: Promise<void> | null = null;

  async function run(): Promise<void> {
    let signersAt = Number.NEGATIVE_INFINITY;
    while (!stopping.signal.aborted) {
      try {
        await reconcileOnce(market, settleMany);
        if (market.clock.now() - signersAt >= SIGNERS_EVERY_MS && (await refreshSigners(market))) {
          signersAt = market.clock.now();
        }
      } catch (error) {
        market.log.error('reconcile_failed', { error });
      }
      await market.clock.sleep(everyMs, stopping.signal);
    }
  }

  return {
    start(): void {
      loop ??= run();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await loop;
    },
  };
}

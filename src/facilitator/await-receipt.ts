import { type Receipt, readReceipt } from '../platform/chain/reads.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import type { Hex } from '../platform/hex.ts';
import type { Context } from './context.ts';

const FIRST_PAUSE_MS = 10;

/** Null when it is in no block by then. Looks at least once. A node that fails meanwhile is asked again. */
export async function awaitReceipt(context: Context, hash: Hex, deadlineAt: number): Promise<Receipt | null> {
  const { rpc, clock, journal, timing } = context;
  const entry = journal.findByHash(hash);
  // A chain that mines at once has it almost at once.
  let pauseMs = Math.min(FIRST_PAUSE_MS, timing.receiptPollMs);
  for (;;) {
    const receipt = await readReceipt(rpc, hash).catch((error: unknown) => {
      if (error instanceof RpcFailure) return null;
      throw error;
    });
    if (receipt !== null) {
      if (entry !== null) await journal.mark(entry, receipt.status === 'success' ? 'succeeded' : 'reverted');
      return receipt;
    }
    if (clock.now() + pauseMs >= deadlineAt) break;
    await clock.sleep(pauseMs);
    pauseMs = Math.min(2 * pauseMs, timing.receiptPollMs);
  }
  // It was in a block once and is not now: it has to be looked after again.
  if (entry?.state === 'succeeded') await journal.mark(entry, 'open');
  return null;
}

import { RpcFailure } from '../platform/chain/rpc.ts';
import { readAuthorizationState } from '../platform/chain/usdc-reads.ts';
import type { Hex } from '../platform/hex.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import { findSettlement } from './find-settlement.ts';
import { type Entry, newestOf } from './journal/entry.ts';
import { readMined } from './read-mined.ts';
import type { Settlement } from './settlement.ts';
import { FAILED, NONCE_USED } from './verify-payment.ts';

const FIRST_PAUSE_MS = 10;

/** What becomes of an authorization that has its place in the order: nothing else is ever signed for it. */
export async function follow(
  context: Context,
  conclude: Conclude,
  entry: Readonly<Entry>,
  deadlineAt: number,
): Promise<Settlement> {
  await awaitMined(context, conclude, entry, deadlineAt);
  const { ending } = entry;
  if (ending === null) return { kind: 'pending', transaction: newestOf(entry).hash };
  if (ending.state === 'succeeded' && ending.hash !== null) return { kind: 'settled', transaction: ending.hash };
  // Somebody else may have been faster: a failure here is no evidence that nothing was paid.
  return (
    (await findElsewhere(context, entry.authorization)) ?? { kind: 'refused', reason: FAILED, transaction: ending.hash }
  );
}

/** Null while the nonce is unused. */
export async function findElsewhere(
  context: Context,
  authorization: Readonly<Entry>['authorization'],
): Promise<Settlement | null> {
  const { from, nonce } = authorization;
  if (!(await readAuthorizationState(context.rpc, context.network.usdc, from, nonce, 'latest'))) return null;
  const transaction = await findSettlement(context, authorization);
  return transaction === null
    ? { kind: 'refused', reason: NONCE_USED, transaction: null }
    : { kind: 'settled', transaction };
}

/** Returns when one of its transactions is in a block, or by then. Looks at least once. A node that fails meanwhile is asked again. */
async function awaitMined(
  context: Context,
  conclude: Conclude,
  entry: Readonly<Entry>,
  deadlineAt: number,
): Promise<void> {
  const { clock, timing, journal } = context;
  const before = entry.ending;
  if (before !== null && before.state !== 'succeeded') return;
  // A chain that mines at once has it almost at once.
  let pauseMs = Math.min(FIRST_PAUSE_MS, timing.receiptPollMs);
  for (;;) {
    if (await look(context, conclude, entry)) return;
    if (clock.now() + pauseMs >= deadlineAt) break;
    await clock.sleep(pauseMs);
    pauseMs = Math.min(2 * pauseMs, timing.receiptPollMs);
  }
  // It was in a block once and is not now: it has to be looked after again.
  if (before !== null && entry.ending === before) await journal.reopen(entry);
}

/** Whether the entry has an end that the chain shows now. */
export async function look(context: Context, conclude: Conclude, entry: Readonly<Entry>): Promise<boolean> {
  const hashes = entry.ending === null ? entry.transactions : entry.transactions.filter(isOf(entry.ending.hash));
  try {
    for (const transaction of hashes.toReversed()) {
      const mined = await readMined(context.rpc, transaction.hash);
      if (mined === null) continue;
      if (entry.ending === null) await conclude.mined(entry, transaction, mined);
      return true;
    }
  } catch (error) {
    if (!(error instanceof RpcFailure)) throw error;
  }
  // Somebody else who looked may have seen its end.
  return entry.ending !== null && entry.ending.state !== 'succeeded';
}

function isOf(hash: Hex | null): (transaction: { hash: Hex }) => boolean {
  return (transaction) => transaction.hash === hash;
}

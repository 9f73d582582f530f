import { RpcFailure } from '../platform/chain/rpc.ts';
import { readAuthorizationState } from '../platform/chain/usdc-reads.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Follower } from './create-follower.ts';
import { findSettlement } from './find-settlement.ts';
import { type Entry, newestOf } from './journal/entry.ts';
import { look } from './look.ts';
import type { Settlement } from './settlement.ts';
import { FAILED, NONCE_USED } from './verify-payment.ts';

export interface Following {
  context: Context;
  conclude: Conclude;
  follower: Follower;
}

/** What becomes of an authorization that has its place in the order: nothing else is ever signed for it. */
export async function follow(
  parts: Following,
  entry: Readonly<Entry>,
  { deadlineAt, isFresh }: { deadlineAt: number; isFresh: boolean },
): Promise<Settlement> {
  const { context, follower } = parts;
  // Only an earlier one may have been mined, or taken back, while nothing was waited for.
  if (!isFresh) await lookAgain(parts, entry);
  await follower.ended(entry, deadlineAt);
  const { ending } = entry;
  if (ending === null) return { kind: 'pending', transaction: newestOf(entry).hash };
  if (ending.state === 'succeeded' && ending.hash !== null) return { kind: 'settled', transaction: ending.hash };
  // Another sender may have been faster: a failure here is no evidence that nothing was paid.
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

/** One that was in a block and is not now has to be looked after again, and a node may have dropped one that was in none. */
async function lookAgain({ context, conclude }: Following, entry: Readonly<Entry>): Promise<void> {
  const { clock, journal, log, nonces, timing } = context;
  const before = entry.ending;
  if (before !== null && before.state !== 'succeeded') return;
  if ((await look(context, conclude, entry)) !== 'absent') return;
  if (before !== null) {
    // Nodes behind one address do not know the same at once.
    await clock.sleep(timing.receiptPollMs);
    if ((await look(context, conclude, entry)) !== 'absent' || entry.ending !== before) return;
    log.warn('settlement_taken_back', { transaction_hash: before.hash });
    nonces.distrust();
    await journal.reopen(entry);
  }
  // Offers again what the node does not have, and what it waits behind.
  await nonces.recheck().catch((error: unknown) => {
    if (!(error instanceof RpcFailure)) throw error;
  });
}

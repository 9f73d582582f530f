import { readBlock } from '../platform/chain/reads.ts';
import { paysForGas, unitsOfWei } from './budget/gas-budget.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Sender } from './create-sender.ts';
import type { Head } from './head.ts';
import { type Entry, newestOf, newestPerNonce } from './journal/entry.ts';
import { fillLeftoverNonce, reopenLostEntries, reopenReplacedEntries, resendDisplaced } from './lost-nonces.ts';
import { isKnown, readTransactionCount, sendRawTransaction } from './outcomes.ts';
import { fillNonce, replaceStuck } from './replace-transaction.ts';
import { findMined } from './scan-blocks.ts';

interface MonitorDependencies {
  conclude: Conclude;
  sender: Sender;
}

export interface PendingMonitor {
  stop(): Promise<void>;
}

/** Regularly checks every signed transaction that is not mined: those from before the start at once, newer ones after `answerMs`. */
export function monitorPending(context: Context, dependencies: MonitorDependencies): PendingMonitor {
  const { clock, log, timing } = context;
  const stopping = new AbortController();
  const startedAt = clock.now();
  const run = async (): Promise<void> => {
    let [finalAt, countedAt] = [0, 0];
    let before: Head | null = null;
    while (!stopping.signal.aborted) {
      const isQuiet = countedAt + timing.quietMs > clock.now();
      await checkOverdue(context, dependencies, { startedAt, isQuiet, before })
        .then((newest) => {
          if (newest === null) return;
          countedAt = clock.now();
          before = newest;
        })
        .catch((error: unknown) => log.warn('settlements_check_failed', { error }));
      if (finalAt + timing.finalEveryMs <= clock.now()) {
        await closeFinal(context).catch((error: unknown) => log.warn('journal_prune_failed', { error }));
        finalAt = clock.now();
      }
      await clock.sleep(timing.tendMs, stopping.signal);
    }
  };
  const running = run();
  return {
    stop: async () => {
      stopping.abort();
      await running;
    },
  };
}

/**
 * Returns the newest block if the chain was read, else null. While nothing is overdue, reads only occasionally, to detect reorganisations.
 * `before` is the newest block of the previous read.
 */
async function checkOverdue(
  context: Context,
  dependencies: MonitorDependencies,
  { startedAt, isQuiet, before }: { startedAt: number; isQuiet: boolean; before: Head | null },
): Promise<Head | null> {
  const { clock, head, journal, log, rpc, timing, address } = context;
  const overdue = journal.openEntries().filter(({ transactions: [first] }) => {
    const signedAt = first?.signedAt ?? 0;
    // This process is still following its own recent settlements.
    return signedAt < startedAt || signedAt + timing.answerMs <= clock.now();
  });
  if (overdue.length === 0 && (isQuiet || !hasReversibleEnding(context))) return null;
  const askedAt = clock.now();
  const [mined, newest] = await Promise.all([readTransactionCount(rpc, address, 'latest'), head.refresh()]);
  await reopenLostEntries(context, mined, askedAt);
  if (overdue.length > 0) await fillLeftoverNonce(context, mined);
  await Promise.all(
    overdue.map((entry) =>
      checkSettlement(context, dependencies, entry, { mined, newest }).catch((error: unknown) => {
        log.warn('settlement_check_failed', { transaction_hash: newestOf(entry).hash, error });
      }),
    ),
  );
  if (!(await isSameChain(context, before, newest)))
    await reopenReplacedEntries(context, dependencies.conclude, askedAt);
  return newest;
}

async function isSameChain({ rpc }: Context, before: Head | null, newest: Head): Promise<boolean> {
  if (before === null) return false;
  if (newest.hash === before.hash || newest.parentHash === before.hash) return true;
  return (await readBlock(rpc, before.number))?.hash === before.hash;
}

/** True if a reorganisation could undo an ending. */
function hasReversibleEnding({ journal, address }: Context): boolean {
  for (const { sender, isFinal, ending } of journal.all()) {
    if (sender === address && !isFinal && ending !== null && ending.hash !== null) return true;
  }
  return false;
}

interface ChainState {
  /** Number of the account's mined transactions. */
  mined: number;
  newest: Head;
}

async function checkSettlement(
  context: Context,
  dependencies: MonitorDependencies,
  entry: Readonly<Entry>,
  seen: ChainState,
): Promise<void> {
  const { rpc, log, clock, timing, address } = context;
  const { conclude } = dependencies;
  const isOwn = entry.sender === address;
  const mined = isOwn ? seen.mined : await readTransactionCount(rpc, entry.sender, 'latest');
  const perNonce = newestPerNonce(entry);
  const hasUsedNonce = perNonce.some(({ accountNonce }) => accountNonce < mined);
  if (hasUsedNonce && (await findMined(context, conclude, entry)) !== 'absent') return;
  // Take the lowest nonce, because a higher one cannot be mined first.
  const next = perNonce.find(({ accountNonce }) => accountNonce >= mined);
  if (next === undefined) {
    // Check again, because nodes count a transaction before they have its receipt.
    if ((await findMined(context, conclude, entry)) !== 'absent') return;
    return resendDisplaced(context, dependencies, entry, seen.newest);
  }
  if (seen.newest.timestamp >= entry.authorization.validBefore) {
    // No later block can accept the transfer. An empty transfer uses up the account nonce and costs less than a revert.
    if (isOwn) return fillNonce(context, entry, next);
    return;
  }
  if (isOwn && next.signedAt + timing.stuckMs <= clock.now()) {
    if (await replaceStuck(context, entry, { stuck: next, isNext: next.accountNonce === mined })) return;
  }
  if (await isKnown(rpc, next.hash)) return;
  const transmission = await sendRawTransaction(rpc, next.raw);
  log.warn('settlement_broadcast_again', { transaction_hash: next.hash, transmission });
}

/** Marks entries whose ending is final, and drops entries whose authorization can no longer be used. */
async function closeFinal(context: Context): Promise<void> {
  const { journal, rpc, etherUnits } = context;
  if (journal.stats().entries === 0) return;
  const head = await readBlock(rpc, 'finalized');
  if (head === null) return;
  for (const entry of [...journal.all()]) {
    const { ending, isFinal, authorization } = entry;
    if (isFinal || ending?.blockNumber == null || ending.blockNumber > head.number) continue;
    const pays =
      ending.state === 'succeeded' && paysForGas(authorization.value, unitsOfWei(ending.costWei, etherUnits));
    await journal.markFinal(entry, pays ? [authorization.from, authorization.to] : []);
  }
  await journal.prune(head.timestamp);
}

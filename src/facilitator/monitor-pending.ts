import { parseTransaction } from 'viem';
import { readBlock } from '../platform/chain/reads.ts';
import { paysForGas, unitsOfWei } from './budget/gas-budget.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import { FILL_GAS, type Priced, signTransaction } from './create-sender.ts';
import type { Head } from './head.ts';
import { type Entry, newestOf } from './journal/entry.ts';
import { isKnown, readTransactionCount, transmit } from './outcomes.ts';
import { findMined } from './scan-blocks.ts';

export interface PendingMonitor {
  stop(): Promise<void>;
}

/** Looks after everything that was signed and is not mined, those of before a restart first. */
export function monitorPending(context: Context, conclude: Conclude): PendingMonitor {
  const { clock, log, timing } = context;
  const stopping = new AbortController();
  const startedAt = clock.now();
  const run = async (): Promise<void> => {
    let [finalAt, countedAt] = [0, 0];
    while (!stopping.signal.aborted) {
      const isQuiet = countedAt + timing.quietMs > clock.now();
      await checkOverdue(context, conclude, { startedAt, isQuiet })
        .then((counted) => {
          if (counted) countedAt = clock.now();
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

/** Whether the chain was asked for the account's count. While nothing is overdue that happens only now and then, for blocks taken back. */
async function checkOverdue(
  context: Context,
  conclude: Conclude,
  { startedAt, isQuiet }: { startedAt: number; isQuiet: boolean },
): Promise<boolean> {
  const { clock, head, journal, log, rpc, timing, address } = context;
  const overdue = journal.open().filter(({ transactions: [first] }) => {
    const signedAt = first?.signedAt ?? 0;
    // A settlement of this process is still followed by itself.
    return signedAt < startedAt || signedAt + timing.answerMs <= clock.now();
  });
  if (overdue.length === 0 && (isQuiet || !hasEnded(context))) return false;
  const askedAt = clock.now();
  const [mined, newest] = await Promise.all([readTransactionCount(rpc, address, 'latest'), head.refresh()]);
  await reopenLost(context, mined, askedAt);
  await Promise.all(
    overdue.map((entry) =>
      checkSettlement(context, conclude, entry, { mined, newest }).catch((error: unknown) => {
        log.warn('settlement_check_failed', { transaction_hash: newestOf(entry).hash, error });
      }),
    ),
  );
  return true;
}

/** Something that a reorganisation can take back. */
function hasEnded({ journal, address }: Context): boolean {
  for (const { sender, isFinal, ending } of journal.all()) {
    if (sender === address && !isFinal && ending !== null && ending.hash !== null) return true;
  }
  return false;
}

/** A block that had one of ours is gone: the account has fewer transactions than it had. */
async function reopenLost({ journal, log, nonces, address }: Context, mined: number, askedAt: number): Promise<void> {
  const lost = [...journal.all()].filter(({ sender, isFinal, ending, accountNonce }) => {
    // What was mined after the question is not missing from the answer.
    const isGone = ending !== null && ending.hash !== null && ending.at < askedAt && accountNonce >= mined;
    return sender === address && !isFinal && isGone;
  });
  for (const entry of lost) {
    log.warn('settlement_reorganised', { transaction_hash: entry.ending?.hash });
    nonces.distrust();
    await journal.reopen(entry);
  }
}

interface ChainCounts {
  /** How many transactions of the account are in blocks. */
  mined: number;
  newest: Head;
}

async function checkSettlement(
  context: Context,
  conclude: Conclude,
  entry: Readonly<Entry>,
  seen: ChainCounts,
): Promise<void> {
  const { rpc, log, clock, timing, address } = context;
  const isOwn = entry.sender === address;
  const mined = isOwn ? seen.mined : await readTransactionCount(rpc, entry.sender, 'latest');
  if (mined > entry.accountNonce) {
    // Twice: nodes count what is mined before they have its receipt.
    if ((await findMined(context, conclude, entry)) !== 'absent') return;
    if ((await findMined(context, conclude, entry)) === 'absent') await conclude.lost(entry);
    return;
  }
  if (seen.newest.timestamp >= entry.authorization.validBefore) {
    // No later block can take it: what settles nothing is cheaper than its revert, and frees the place.
    if (isOwn) return fillNonce(context, entry);
    return;
  }
  const newest = newestOf(entry);
  if (isOwn && newest.signedAt + timing.stuckMs <= clock.now()) {
    if (await replaceStuck(context, entry, entry.accountNonce === mined)) return;
  }
  if (await isKnown(rpc, newest.hash)) return;
  // The same bytes as before.
  const transmission = await transmit(rpc, newest.raw);
  log.warn('settlement_broadcast_again', { transaction_hash: newest.hash, transmission });
}

/** Notes whose sales are final, and forgets what no chain can settle any more. */
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
    await journal.know(entry, pays ? [authorization.from, authorization.to] : []);
  }
  await journal.forget(head.timestamp);
}

/** Then its price is far above what the chain takes, and something else is wrong. */
const MOST_TRANSACTIONS = 12;

/** Sends the same settlement for the same place again at a higher price. False where that would not help. */
async function replaceStuck(context: Context, entry: Readonly<Entry>, isNext: boolean): Promise<boolean> {
  const { counts, nonces, quoteGas } = context;
  const fees = await quoteGas.fees();
  const newest = newestOf(entry);
  // What stands behind another waits for that one, unless its own price is too low as well.
  if (!isNext && newest.maxFeePerGas >= fees.price) return false;
  if (entry.transactions.length >= MOST_TRANSACTIONS || newest.fills) return false;
  const { data, gas } = parseTransaction(newest.raw);
  if (data === undefined || gas === undefined) return false;
  const transaction = await signTransaction(context, entry.accountNonce, data, { gas, ...bumpedFees(newest, fees) });
  counts.replacements += 1;
  nonces.distrust();
  await sendInstead(context, entry, transaction, 'settlement_replaced');
  return true;
}

/** An authorization ran out before it was mined: its place is filled, or everything behind it would wait for ever. */
async function fillNonce(context: Context, entry: Readonly<Entry>): Promise<void> {
  const { counts, nonces, quoteGas, timing, clock } = context;
  const newest = newestOf(entry);
  if (newest.fills && newest.signedAt + timing.stuckMs > clock.now()) {
    await transmit(context.rpc, newest.raw);
    return;
  }
  const price = bumpedFees(newest, await quoteGas.fees());
  const transaction = await signTransaction(context, entry.accountNonce, null, { gas: FILL_GAS, ...price });
  counts.fills += 1;
  nonces.distrust();
  await sendInstead(context, entry, transaction, 'settlement_nonce_filled');
}

async function sendInstead(
  { journal, rpc, log }: Context,
  entry: Readonly<Entry>,
  transaction: Entry['transactions'][number],
  event: string,
): Promise<void> {
  await journal.addTransaction(entry, transaction);
  const transmission = await transmit(rpc, transaction.raw);
  log.warn(event, { transaction_hash: transaction.hash, payer: entry.authorization.from, transmission });
}

/** Nodes take a transaction in place of another only if both of its prices are an eighth higher. */
function bumpedFees(before: Omit<Priced, 'gas'>, now: Omit<Priced, 'gas'>): Omit<Priced, 'gas'> {
  const raised = (value: bigint): bigint => (value * 9n) / 8n + 1n;
  const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);
  return {
    maxFeePerGas: most(raised(before.maxFeePerGas), now.maxFeePerGas),
    maxPriorityFeePerGas: most(raised(before.maxPriorityFeePerGas), now.maxPriorityFeePerGas),
  };
}

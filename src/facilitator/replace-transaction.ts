import { parseTransaction } from 'viem';
import type { Context } from './context.ts';
import type { Entry, SignedTransaction } from './journal/entry.ts';
import { transmit } from './outcomes.ts';
import { FILL_GAS, type Priced, signTransaction } from './sign-transaction.ts';

/** Then its price is far above what the chain takes, and something else is wrong. */
const MOST_TRANSACTIONS = 12;

/**
 * Sends the same settlement for the same place again at a higher price. `stuck` is the newest transaction for that place. False where that
 * would not help.
 */
export async function replaceStuck(
  context: Context,
  entry: Readonly<Entry>,
  { stuck, isNext }: { stuck: SignedTransaction; isNext: boolean },
): Promise<boolean> {
  const { counts, nonces, quoteGas } = context;
  const { accountNonce } = stuck;
  const fees = await quoteGas.fees();
  // A transaction that stands behind another waits for that one, unless its own price is too low as well.
  if (!isNext && stuck.maxFeePerGas >= fees.price) return false;
  const sent = entry.transactions.filter((one) => one.accountNonce === accountNonce).length;
  if (sent >= MOST_TRANSACTIONS || stuck.fills) return false;
  const { data, gas } = parseTransaction(stuck.raw);
  if (data === undefined || gas === undefined) return false;
  const transaction = await signTransaction(context, accountNonce, data, { gas, ...bumpedFees(stuck, fees) });
  counts.replacements += 1;
  nonces.distrust();
  await sendInstead(context, entry, transaction, 'settlement_replaced');
  return true;
}

/** A place that settles nothing any more is filled, or everything behind it would wait for ever. */
export async function fillNonce(context: Context, entry: Readonly<Entry>, newest: SignedTransaction): Promise<void> {
  const { counts, nonces, quoteGas, timing, clock } = context;
  if (newest.fills && newest.signedAt + timing.stuckMs > clock.now()) {
    await transmit(context.rpc, newest.raw);
    return;
  }
  const price = bumpedFees(newest, await quoteGas.fees());
  const transaction = await signTransaction(context, newest.accountNonce, null, { gas: FILL_GAS, ...price });
  counts.fills += 1;
  nonces.distrust();
  await sendInstead(context, entry, transaction, 'settlement_nonce_filled');
}

async function sendInstead(
  { journal, rpc, log }: Context,
  entry: Readonly<Entry>,
  transaction: SignedTransaction,
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

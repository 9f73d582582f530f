import { parseTransaction } from 'viem';
import type { Context } from './context.ts';
import type { Entry, SignedTransaction } from './journal/entry.ts';
import { sendRawTransaction } from './outcomes.ts';
import { FILL_GAS, signTransaction, type TransactionGas } from './sign-transaction.ts';

/** After this many transactions the price is far above the market, so something else is wrong. */
const MAX_TRANSACTIONS = 12;

/**
 * Sends the settlement again with the same nonce at a higher price than `stuck`, the newest transaction with that nonce. False if this
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
  // A transaction queued behind another needs no bump unless its own price is too low as well.
  if (!isNext && stuck.maxFeePerGas >= fees.price) return false;
  const sent = entry.transactions.filter((one) => one.accountNonce === accountNonce).length;
  if (sent >= MAX_TRANSACTIONS || stuck.fills) return false;
  const { data, gas } = parseTransaction(stuck.raw);
  if (data === undefined || gas === undefined) return false;
  const transaction = await signTransaction(context, accountNonce, data, { gas, ...bumpedFees(stuck, fees) });
  counts.replacements += 1;
  nonces.distrust();
  await sendInstead(context, entry, transaction, 'settlement_replaced');
  return true;
}

/** Uses up an account nonce by an empty transfer, because no settlement can use it and all higher nonces would wait for ever. */
export async function fillNonce(context: Context, entry: Readonly<Entry>, newest: SignedTransaction): Promise<void> {
  const { counts, nonces, quoteGas, timing, clock } = context;
  if (newest.fills && newest.signedAt + timing.stuckMs > clock.now()) {
    await sendRawTransaction(context.rpc, newest.raw);
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
  const transmission = await sendRawTransaction(rpc, transaction.raw);
  log.warn(event, { transaction_hash: transaction.hash, payer: entry.authorization.from, transmission });
}

/** Raises both prices by an eighth, because nodes replace a transaction only for a clearly higher price. */
function bumpedFees(old: Omit<TransactionGas, 'gas'>, now: Omit<TransactionGas, 'gas'>): Omit<TransactionGas, 'gas'> {
  const raised = (value: bigint): bigint => (value * 9n) / 8n + 1n;
  const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);
  return {
    maxFeePerGas: most(raised(old.maxFeePerGas), now.maxFeePerGas),
    maxPriorityFeePerGas: most(raised(old.maxPriorityFeePerGas), now.maxPriorityFeePerGas),
  };
}

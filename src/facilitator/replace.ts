import { parseTransaction } from 'viem';
import type { Context } from './context.ts';
import { type Entry, newestOf } from './journal/entry.ts';
import { FILL_GAS, type Priced, signTransaction } from './sign-transaction.ts';
import { transmit } from './transmit.ts';

/** Then its price is far above what the chain takes, and something else is wrong. */
const MOST_TRANSACTIONS = 12;

/** Sends the same settlement for the same place again at a higher price. False where that would not help. */
export async function replaceStuck(context: Context, entry: Readonly<Entry>, isNext: boolean): Promise<boolean> {
  const { counts, nonces, quoteGas } = context;
  const fees = await quoteGas.fees();
  const newest = newestOf(entry);
  // What stands behind another waits for that one, unless its own price is too low as well.
  if (!isNext && newest.maxFeePerGas >= fees.price) return false;
  if (entry.transactions.length >= MOST_TRANSACTIONS || newest.fills) return false;
  const { data, gas } = parseTransaction(newest.raw);
  if (data === undefined || gas === undefined) return false;
  const transaction = await signTransaction(context, entry.accountNonce, data, { gas, ...dearer(newest, fees) });
  counts.replacements += 1;
  nonces.distrust();
  await sendInstead(context, entry, transaction, 'settlement_replaced');
  return true;
}

/** An authorization ran out before it was mined: its place is filled, or everything behind it would wait for ever. */
export async function fillPlace(context: Context, entry: Readonly<Entry>): Promise<void> {
  const { counts, nonces, quoteGas, timing, clock } = context;
  const newest = newestOf(entry);
  if (newest.fills && newest.signedAt + timing.stuckMs > clock.now()) {
    await transmit(context.rpc, newest.raw);
    return;
  }
  const price = dearer(newest, await quoteGas.fees());
  const transaction = await signTransaction(context, entry.accountNonce, null, { gas: FILL_GAS, ...price });
  counts.fills += 1;
  nonces.distrust();
  await sendInstead(context, entry, transaction, 'settlement_place_filled');
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
function dearer(before: Omit<Priced, 'gas'>, now: Omit<Priced, 'gas'>): Omit<Priced, 'gas'> {
  const raised = (value: bigint): bigint => (value * 9n) / 8n + 1n;
  const most = (a: bigint, b: bigint): bigint => (a > b ? a : b);
  return {
    maxFeePerGas: most(raised(before.maxFeePerGas), now.maxFeePerGas),
    maxPriorityFeePerGas: most(raised(before.maxPriorityFeePerGas), now.maxPriorityFeePerGas),
  };
}

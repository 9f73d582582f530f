import { isCostly } from '../platform/chain/log-span.ts';
import { type Block, readBlock, readReceipt } from '../platform/chain/reads.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import { blocksBetween, searchLogs } from '../platform/chain/search-logs.ts';
import type { Authorization } from '../platform/chain/shapes.ts';
import {
  AUTHORIZATION_CANCELED_TOPIC,
  AUTHORIZATION_USED_TOPIC,
  addressTopic,
  decodeAuthorizationUsed,
  decodeTransfer,
  readAuthorizationState,
} from '../platform/chain/usdc.ts';
import type { Hex } from '../platform/hex.ts';
import type { Conclude } from './conclude.ts';
import type { Context } from './context.ts';
import type { Follower } from './create-follower.ts';
import { type Entry, newestOf } from './journal/entry.ts';
import { ChainTrouble, type Settlement } from './outcomes.ts';
import { findMined, reopenEntry } from './scan-blocks.ts';
import { FAILED, NONCE_USED } from './verify-payment.ts';

export interface Following {
  context: Context;
  conclude: Conclude;
  follower: Follower;
}

export async function awaitEnding(
  dependencies: Following,
  entry: Readonly<Entry>,
  { deadlineAt, isFresh }: { deadlineAt: number; isFresh: boolean },
): Promise<Settlement> {
  const { context, follower } = dependencies;
  // Needed only for an earlier transaction, which may have been mined or removed by a reorganisation while nobody followed it.
  if (!isFresh) await searchAgain(dependencies, entry);
  await follower.ended(entry, deadlineAt);
  const { ending } = entry;
  if (ending === null) return { kind: 'pending', transaction: newestOf(entry).hash };
  if (ending.state === 'succeeded' && ending.hash !== null) return { kind: 'settled', transaction: ending.hash };
  // Somebody else may have submitted the authorization first, so our failed transaction does not prove that nothing was paid.
  return (
    (await findElsewhere(context, entry.authorization)) ?? { kind: 'refused', reason: FAILED, transaction: ending.hash }
  );
}

/** Looks for any transaction, whoever sent it, that used the authorization. Null if the authorization's nonce is unused. */
export async function findElsewhere(
  context: Context,
  authorization: Readonly<Entry>['authorization'],
): Promise<Settlement | null> {
  const { rpc, network } = context;
  const { from, nonce } = authorization;
  const latest = await readBlock(rpc, 'latest');
  if (latest === null) throw new ChainTrouble('the node has no latest block');
  // Read the state at the block `latest`, so that the transaction that used the nonce is in this block or an earlier one.
  if (!(await readAuthorizationState(rpc, network.usdc, { authorizer: from, nonce }, latest.number))) return null;
  const transaction = await findSettlement(context, latest, authorization);
  return transaction === null
    ? { kind: 'refused', reason: NONCE_USED, transaction: null }
    : { kind: 'settled', transaction };
}

/** Searches for the transaction again, because a reorganisation may have removed it, or a node may have dropped it before it was mined. */
async function searchAgain({ context, conclude }: Following, entry: Readonly<Entry>): Promise<void> {
  const { clock, nonces, timing } = context;
  const before = entry.ending;
  if (before !== null && before.state !== 'succeeded') return;
  if ((await findMined(context, conclude, entry)) !== 'absent') return;
  if (before !== null) {
    // Nodes behind one URL may disagree for a moment.
    await clock.sleep(timing.receiptPollMs);
    if ((await findMined(context, conclude, entry)) !== 'absent' || entry.ending !== before) return;
    await reopenEntry(context, entry);
  }
  // Broadcast again what the node lacks, including transactions with lower nonces that block this one.
  await nonces.recheck().catch((error: unknown) => {
    if (!(error instanceof RpcFailure)) throw error;
  });
}

/** A little over five hours on Base. An authorization is normally used within minutes of being signed. */
const LOOK_BACK_BLOCKS = 10_000n;
/** Rounds the first block down, so that a search that takes several calls keeps its range and can finish. */
const ROUNDED_TO_BLOCKS = 1_000n;

/**
 * Returns the transaction that paid this authorization, whoever sent it. Null if the nonce was cancelled, used for another payment, or used
 * before the range. Throws if the chain cannot be read, and while a search that needs many queries is still running.
 */
async function findSettlement(context: Context, latest: Block, authorization: Authorization): Promise<Hex | null> {
  const { rpc, network } = context;
  const { from, nonce, validAfter, validBefore } = authorization;
  const lowestBlock = latest.number > LOOK_BACK_BLOCKS ? latest.number - LOOK_BACK_BLOCKS : 0n;
  const all = { fromBlock: lowestBlock - (lowestBlock % ROUNDED_TO_BLOCKS), toBlock: latest.number };
  // The token accepts the authorization only between these times.
  const blocks = isCostly(rpc, all) ? await blocksBetween(rpc, all, { from: validAfter, before: validBefore }) : all;
  const logs = await searchLogs(rpc, {
    address: network.usdc,
    topics: [[AUTHORIZATION_USED_TOPIC, AUTHORIZATION_CANCELED_TOPIC], addressTopic(from), nonce],
    ...blocks,
    isEnough: ({ length }) => length > 0,
  });
  const end = logs.at(-1);
  if (end === undefined || decodeAuthorizationUsed(end) === null) return null;
  return (await isPaidIn(context, end.transactionHash, authorization)) ? end.transactionHash : null;
}

async function isPaidIn({ rpc, network }: Context, hash: Hex, authorization: Authorization): Promise<boolean> {
  const receipt = await readReceipt(rpc, hash);
  if (receipt === null) throw new ChainTrouble('the node has the log of a transaction but not its receipt');
  const logs = receipt.logs.filter(({ address }) => address === network.usdc);
  const at = logs.findIndex((log) => {
    const used = decodeAuthorizationUsed(log);
    return used !== null && used.authorizer === authorization.from && used.nonce === authorization.nonce;
  });
  // The token logs the transfer right after the use of the authorization. One transaction may contain several such pairs.
  const next = at < 0 ? undefined : logs[at + 1];
  const transfer = next === undefined ? null : decodeTransfer(next);
  const { from, to, value } = authorization;
  return transfer !== null && transfer.from === from && transfer.to === to && transfer.value === value;
}

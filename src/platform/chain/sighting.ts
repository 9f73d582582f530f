import type { Hex } from '../hex.ts';
import { type Block, type Log, type Receipt, readBlock } from './reads.ts';
import type { Rpc } from './rpc.ts';

/** A block by number, hash and time. Except in accept-head.ts, a finalized block that passed the checks there. */
export interface FinalizedHead {
  number: bigint;
  hash: Hex;
  /** Seconds since 1970. */
  timestamp: bigint;
}

/** A transaction and the block that contains it. */
export interface Sighting {
  txHash: Hex;
  blockNumber: bigint;
  blockHash: Hex;
  /** Seconds since 1970. */
  blockTime: bigint;
  /** Sender of the transaction, who need not be the payer. */
  sender: Hex;
}

/** A single transfer within a transaction. */
export interface FoundTransfer extends Sighting {
  logIndex: number;
  /** Amount in token units. */
  value: bigint;
}

/** One provider's view, read at one moment, of a transaction that is said to have moved money. */
export interface TransferEvidence {
  chainId: bigint;
  /** Null while no finalized head can be accepted. */
  finalized: FinalizedHead | null;
  receipt: Receipt | null;
  /** The block at the receipt's height. */
  block: Block | null;
  /** Matching token transfers of that block, read by block hash: a second source for what the receipt contains. */
  transfersInBlock: Log[];
}

/** Returns true if the receipt is from this block and the block lists the transaction. */
export function isInBlock(receipt: Receipt, block: Block | null): block is Block {
  return (
    block !== null &&
    receipt.blockHash === block.hash &&
    receipt.blockNumber === block.number &&
    block.transactions.includes(receipt.transactionHash)
  );
}

/** Returns true if the receipt and the logs read for the block contain the same wanted logs of the transaction. */
export function sameLogs(receipt: Receipt, inBlock: readonly Log[], isWanted: (log: Log) => boolean): boolean {
  const ofReceipt = receipt.logs.filter(isWanted);
  const ofBlock = inBlock.filter((log) => isWanted(log) && log.transactionHash === receipt.transactionHash);
  // A reorganisation removes the logs of a transaction together.
  if (receipt.logs.some((log) => log.removed)) return false;
  return ofReceipt.length === ofBlock.length && ofReceipt.every((log) => ofBlock.some((other) => sameLog(log, other)));
}

/** Returns true if both logs are identical, at the same log index, and not removed by a reorganisation. */
export function sameLog(one: Log, other: Log): boolean {
  return (
    one.logIndex === other.logIndex &&
    one.address === other.address &&
    one.blockHash === other.blockHash &&
    one.transactionHash === other.transactionHash &&
    one.data === other.data &&
    !one.removed &&
    !other.removed &&
    one.topics.length === other.topics.length &&
    one.topics.every((topic, index) => topic === other.topics[index])
  );
}

/** One provider's view of a transaction: the receipt, null if the provider shows none, and the block at the height of the receipt. */
export interface Mined {
  receipt: Receipt | null;
  /** The block at the receipt's height. */
  block: Block | null;
}

/**
 * Returns true if both show the same receipt in the same block, with the same token logs. No decision uses other facts of the transaction.
 */
export function sameMined(asset: Hex, one: Mined, other: Mined): boolean {
  const [mine, theirs] = [one.receipt, other.receipt];
  if (mine === null || theirs === null || one.block === null || !isInBlock(theirs, other.block)) return false;
  return (
    mine.transactionHash === theirs.transactionHash &&
    mine.blockHash === theirs.blockHash &&
    mine.status === theirs.status &&
    mine.from === theirs.from &&
    one.block.hash === other.block.hash &&
    one.block.timestamp === other.block.timestamp &&
    sameLogs(mine, theirs.logs, (log) => log.address === asset)
  );
}

/** Reads the finalized block again after everything else. Reveals a load balancer that switched nodes, or a wrong finalized tag. */
export async function isStillFinal(rpc: Rpc, head: { finalized: FinalizedHead | null }): Promise<boolean> {
  if (head.finalized === null) return true;
  const again = await readBlock(rpc, head.finalized.number);
  return again?.hash === head.finalized.hash;
}

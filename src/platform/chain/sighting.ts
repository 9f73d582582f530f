import type { Hex } from '../hex.ts';
import { type Block, type Log, type Receipt, readBlock } from './reads.ts';
import type { Rpc } from './rpc.ts';

/** A finalized block that passed every check of accept-head.ts. */
export interface FinalizedHead {
  number: bigint;
  hash: Hex;
  /** Seconds. */
  timestamp: bigint;
}

/** A transaction in its block. */
export interface Sighting {
  txHash: Hex;
  blockNumber: bigint;
  blockHash: Hex;
  /** Seconds. */
  blockTime: bigint;
  /** Who sent the transaction; says nothing about who paid. */
  sender: Hex;
}

/** One transfer among those of its transaction. */
export interface FoundTransfer extends Sighting {
  logIndex: number;
  /** Units. */
  value: bigint;
}

/** What one provider shows of a transaction that is said to have moved money, all of one moment. */
export interface TransferEvidence {
  chainId: bigint;
  /** Null while no finalized head is acceptable. */
  finalized: FinalizedHead | null;
  receipt: Receipt | null;
  /** The block at the receipt's height. */
  block: Block | null;
  /** The token's transfers of that kind in that block, asked for by block hash: a second reading of what the receipt says. */
  transfersInBlock: Log[];
}

/** Whether the block of that height is the receipt's own, and lists its transaction. */
export function isInBlock(receipt: Receipt, block: Block | null): block is Block {
  return (
    block !== null &&
    receipt.blockHash === block.hash &&
    receipt.blockNumber === block.number &&
    block.transactions.includes(receipt.transactionHash)
  );
}

/** Whether the receipt and the block's own log index hold the same logs of that kind for the transaction. */
export function sameLogs(receipt: Receipt, inBlock: readonly Log[], isWanted: (log: Log) => boolean): boolean {
  const ofReceipt = receipt.logs.filter(isWanted);
  const ofBlock = inBlock.filter((log) => isWanted(log) && log.transactionHash === receipt.transactionHash);
  // All logs of a transaction share its fate.
  if (receipt.logs.some((log) => log.removed)) return false;
  return ofReceipt.length === ofBlock.length && ofReceipt.every((log) => ofBlock.some((other) => sameLog(log, other)));
}

/** In the same place, and the same to the last bit. */
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

/** A transaction in its block. */
export interface Mined {
  receipt: Receipt | null;
  /** The block at the receipt's height. */
  block: Block | null;
}

/** The same receipt in the same block, down to every log of the token: whatever could be decided by them. */
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

/** Asked after everything else was read: a balancer that switched nodes in between, or a tag that lied, shows here. */
export async function isStillFinal(rpc: Rpc, head: { finalized: FinalizedHead | null }): Promise<boolean> {
  if (head.finalized === null) return true;
  const again = await readBlock(rpc, head.finalized.number);
  return again?.hash === head.finalized.hash;
}

import type { Hex } from '../hex.ts';
import type { Block, Receipt } from './reads.ts';
import { sameLogs, stands } from './sighting.ts';

/** A transaction in its block. */
export interface Mined {
  receipt: Receipt | null;
  /** The block at the receipt's height. */
  block: Block | null;
}

/** The same receipt in the same block, down to every log of the token: whatever could be decided by them. */
export function sameMined(asset: Hex, one: Mined, other: Mined): boolean {
  const [mine, theirs] = [one.receipt, other.receipt];
  if (mine === null || theirs === null || one.block === null || !stands(theirs, other.block)) return false;
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

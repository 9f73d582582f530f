import { readBlock } from '../../../platform/chain/reads.ts';
import type { Rpc } from '../../../platform/chain/rpc.ts';
import type { ChainHead } from './read-head.ts';

/** Asked after everything else was read: a balancer that switched nodes in between, or a tag that lied, shows here. */
export async function isStillFinal(rpc: Rpc, head: ChainHead): Promise<boolean> {
  if (head.finalized === null) return true;
  const again = await readBlock(rpc, head.finalized.number);
  return again?.hash === head.finalized.hash;
}

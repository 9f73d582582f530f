import { readBlock } from './reads.ts';
import type { Rpc } from './rpc.ts';
import type { FinalizedHead } from './sighting.ts';

/** Asked after everything else was read: a balancer that switched nodes in between, or a tag that lied, shows here. */
export async function isStillFinal(rpc: Rpc, head: { finalized: FinalizedHead | null }): Promise<boolean> {
  if (head.finalized === null) return true;
  const again = await readBlock(rpc, head.finalized.number);
  return again?.hash === head.finalized.hash;
}

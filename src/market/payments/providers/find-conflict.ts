import type { Provider } from '../../../platform/chain/provider.ts';
import { type Block, readBlock } from '../../../platform/chain/reads.ts';
import type { FinalizedHead } from '../../../platform/chain/sighting.ts';

/** A provider and what it calls final, plausible by its own word. */
export interface Claim {
  provider: Provider;
  finalized: FinalizedHead;
}

/** Two providers, and the two blocks that they call final at one height. */
export interface Conflict {
  number: bigint;
  one: Claim & { block: Pick<Block, 'hash'> };
  other: Claim & { block: Pick<Block, 'hash'> };
}

/**
 * Two that call different blocks of one height final. Compared at the lower of their finalized heights, which both call final: chains
 * that part below it differ there too. Throws RpcFailure when one does not answer.
 */
export async function findConflict(claims: readonly Claim[]): Promise<Conflict | null> {
  for (const [at, one] of claims.entries()) {
    for (const other of claims.slice(at + 1)) {
      const number = one.finalized.number < other.finalized.number ? one.finalized.number : other.finalized.number;
      const [mine, theirs] = await Promise.all([blockAt(one, number), blockAt(other, number)]);
      if (mine !== null && theirs !== null && mine.hash !== theirs.hash) {
        return { number, one: { ...one, block: mine }, other: { ...other, block: theirs } };
      }
    }
  }
  return null;
}

async function blockAt({ provider, finalized }: Claim, number: bigint): Promise<Pick<Block, 'hash'> | null> {
  return number === finalized.number ? finalized : await readBlock(provider, number);
}

/** Names them by their place in the configuration: this is shown in public. */
export function conflictWords({ number, one, other }: Conflict): string {
  const side = ({ provider, block }: Conflict['one']): string => `provider ${provider.number} has ${block.hash}`;
  return `at the final height ${number} ${side(one)} and ${side(other)}`;
}

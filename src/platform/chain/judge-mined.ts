import type { Hex } from '../hex.ts';
import type { Block } from './reads.ts';
import { type Mined, sameMined } from './same-mined.ts';
import type { FinalizedHead } from './sighting.ts';

/** Why what one provider shows may not be relied on, by the word of another one. */
export type Objection = 'silent' | 'behind' | 'disagrees';

/** What the other provider has to be asked for, in addition to the payment itself. */
export interface Said {
  latest: Pick<Block, 'number' | 'timestamp'>;
  /** Its block at the height that the leader calls final; only where the decision rests on that. */
  atFinalized: Pick<Block, 'hash'> | null;
}

/** What the leading provider shows of a transaction, and the head by which it would be decided. */
export interface Shown extends Mined {
  finalized: FinalizedHead | null;
}

/** Null where the other provider shows the same transaction in the same block, or no such transaction. Pure. */
export function judgeMined(shown: Shown, asset: Hex, said: Said, mined: Mined): Objection | null {
  const { receipt, finalized } = shown;
  if (receipt !== null) {
    if (said.latest.number < receipt.blockNumber) return 'behind';
    return sameMined(asset, shown, mined) ? null : 'disagrees';
  }
  if (finalized === null) return 'behind';
  const unheard = judgeFinalized(finalized, said);
  if (unheard !== null || mined.receipt === null) return unheard;
  return mined.receipt.blockNumber > finalized.number ? 'behind' : 'disagrees';
}

/** That nothing came until a final block says something only where that block is the other's too. */
export function judgeFinalized(finalized: FinalizedHead, { latest, atFinalized }: Said): Objection | null {
  if (latest.number < finalized.number) return 'behind';
  return atFinalized?.hash === finalized.hash ? null : 'disagrees';
}

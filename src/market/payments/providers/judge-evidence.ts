import type { Block, Receipt } from '../../../platform/chain/reads.ts';
import { type FinalizedHead, sameLogs, stands } from '../../../platform/chain/sighting.ts';
import type { Hex } from '../../../platform/hex.ts';
import type { Evidence } from '../decide.ts';
import type { ClaimEvidence } from '../direct/decide-claim.ts';
import type { Finding } from '../read-findings.ts';

/** Why what one provider shows may not be relied on, by the word of another one. */
export type Objection = 'silent' | 'behind' | 'disagrees';

/** A transaction in its block. */
export interface Mined {
  receipt: Receipt | null;
  /** The block at the receipt's height. */
  block: Block | null;
}

/** What the other provider has to be asked for, beside the payment itself. */
export interface Said {
  latest: Pick<Block, 'number' | 'timestamp'>;
  /** Its block at the height that the leader calls final; only where the decision rests on that. */
  atFinalized: Pick<Block, 'hash'> | null;
}

/** Null where the other provider shows the same use of the authorization, or the same absence of any. Pure. */
export function judgeUse(
  evidence: Evidence,
  terms: { asset: Hex; validBefore: bigint },
  said: Said,
  finding: Finding,
): Objection | null {
  const { use, finalized, latest } = evidence;
  if (use !== null) {
    if (said.latest.number < use.log.blockNumber) return 'behind';
    const found = finding.use?.log;
    const same = found?.transactionHash === use.log.transactionHash && found.logIndex === use.log.logIndex;
    return same && finding.use !== null && sameMined(terms.asset, use, finding.use) ? null : 'disagrees';
  }
  // A use above the block that the leader called its latest is one that the leader has yet to see.
  if (finding.use !== null) return finding.use.log.blockNumber > latest.number ? 'behind' : 'disagrees';
  if (said.latest.timestamp <= terms.validBefore) return 'behind';
  if (finding.nonceUsed === true) return 'disagrees';
  if (finding.nonceUsed === null) return 'behind';
  return finalized !== null && finalized.timestamp >= terms.validBefore ? judgeFinalized(finalized, said) : null;
}

/** Null where the other provider shows the same transaction in the same block, or no such transaction. Pure. */
export function judgeClaim(
  evidence: Pick<ClaimEvidence, 'receipt' | 'block' | 'finalized'>,
  asset: Hex,
  said: Said,
  mined: Mined,
): Objection | null {
  const { receipt, finalized } = evidence;
  if (receipt !== null) {
    if (said.latest.number < receipt.blockNumber) return 'behind';
    return sameMined(asset, evidence, mined) ? null : 'disagrees';
  }
  if (finalized === null) return 'behind';
  const unheard = judgeFinalized(finalized, said);
  if (unheard !== null || mined.receipt === null) return unheard;
  return mined.receipt.blockNumber > finalized.number ? 'behind' : 'disagrees';
}

/** That nothing came until a final block says something only where that block is the other's too. */
function judgeFinalized(finalized: FinalizedHead, { latest, atFinalized }: Said): Objection | null {
  if (latest.number < finalized.number) return 'behind';
  return atFinalized?.hash === finalized.hash ? null : 'disagrees';
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

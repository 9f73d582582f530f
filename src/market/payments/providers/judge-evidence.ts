import { judgeFinalized, type Objection, type Said } from '../../../platform/chain/judge-mined.ts';
import { sameMined } from '../../../platform/chain/same-mined.ts';
import type { Hex } from '../../../platform/hex.ts';
import type { Evidence } from '../paths/x402/decide.ts';
import type { Finding } from '../paths/x402/read-findings.ts';

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

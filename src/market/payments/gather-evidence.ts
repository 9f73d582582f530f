import { isStillFinal } from '../../platform/chain/still-final.ts';
import type { Market } from '../context.ts';
import { decide, type Evidence } from './decide.ts';
import type { ChainHead } from './head/read-head.ts';
import type { X402Payment } from './payment.ts';
import type { SecondOpinions } from './providers/ask-others.ts';
import { readFindings } from './read-findings.ts';
import { attemptTermsOf } from './x402/attempt-terms.ts';

export interface Gathering {
  market: Pick<Market, 'clock' | 'log'>;
  readHead(): Promise<ChainHead>;
  /** What the other providers say to what would be decided. */
  opinions: Pick<SecondOpinions, 'onUses'>;
  /** Leaves out what was seen up to this block and above the finalized one: nothing has changed, and nothing can be decided yet. */
  unchangedTo: bigint | null;
}

/**
 * Reads about some payments of one asset, all from one provider, the one whose head leads. What would decide is then shown to the other
 * providers; where they do not bear it out it comes back as evidence that decides nothing. Throws RpcFailure when what they share
 * cannot be read.
 */
export async function gatherEvidence(
  gathering: Gathering,
  payments: readonly X402Payment[],
): Promise<Map<bigint, Evidence>> {
  const { market, opinions, unchangedTo } = gathering;
  const head = await gathering.readHead();
  const { rpc, chainId, latest, finalized } = head;
  const wanted = payments.filter(({ blockNumber }) => !isSkipped(blockNumber, head, unchangedTo));
  const findings = await readFindings(market, { rpc, latest }, wanted);
  const gathered = new Map<bigint, Evidence>(
    [...findings].map(([id, finding]) => [id, { chainId, latest, finalized, ...finding }]),
  );
  const borneOut = await opinions.onUses(head, wanted, gathered);
  const ends = wanted.some((payment) => {
    const evidence = borneOut.get(payment.id);
    return evidence !== undefined && decide(evidence, attemptTermsOf(payment, null)).outcome !== 'unknown';
  });
  return !ends || (await isStillFinal(rpc, head)) ? borneOut : withoutFinalized(borneOut);
}

/** Whether a reading could show nothing new of what was seen in that block. */
export function isSkipped(seen: bigint | null, { finalized }: ChainHead, unchangedTo: bigint | null): boolean {
  if (seen === null || unchangedTo === null || seen > unchangedTo) return false;
  return finalized === null || seen > finalized.number;
}

function withoutFinalized(gathered: Map<bigint, Evidence>): Map<bigint, Evidence> {
  return new Map([...gathered].map(([id, evidence]) => [id, { ...evidence, finalized: null }]));
}

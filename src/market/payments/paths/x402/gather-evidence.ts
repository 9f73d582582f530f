import { isStillFinal } from '../../../../platform/chain/sighting.ts';
import type { Market } from '../../../context.ts';
import type { Corroboration } from '../../chain/corroborate.ts';
import type { ChainHead } from '../../chain/read-head.ts';
import type { X402Payment } from '../../payment.ts';
import { attemptTermsOf, decide, type Evidence } from './decide.ts';
import { readFindings } from './read-findings.ts';

interface Gathering {
  market: Pick<Market, 'clock' | 'log'>;
  corroboration: Pick<Corroboration, 'onUses'>;
}

/**
 * Reads the chain about payments of one asset, all from the head's provider. Checks decisive evidence with the other providers; unconfirmed
 * evidence is returned without the parts that could decide. Throws RpcFailure if the shared part of the reading fails.
 */
export async function gatherEvidence(
  { market, corroboration }: Gathering,
  head: ChainHead,
  payments: readonly X402Payment[],
): Promise<Map<bigint, Evidence>> {
  if (payments.length === 0) return new Map();
  const { rpc, chainId, latest, finalized } = head;
  const findings = await readFindings(market, { rpc, latest }, payments);
  const gathered = new Map<bigint, Evidence>(
    [...findings].map(([id, finding]) => [id, { chainId, latest, finalized, ...finding }]),
  );
  const corroborated = await corroboration.onUses(head, payments, gathered);
  const ends = payments.some((payment) => {
    const evidence = corroborated.get(payment.id);
    return evidence !== undefined && decide(evidence, attemptTermsOf(payment, null)).outcome !== 'unknown';
  });
  return !ends || (await isStillFinal(rpc, head)) ? corroborated : withoutFinalized(corroborated);
}

function withoutFinalized(gathered: Map<bigint, Evidence>): Map<bigint, Evidence> {
  return new Map([...gathered].map(([id, evidence]) => [id, { ...evidence, finalized: null }]));
}

import { hearProvider } from '../../platform/chain/hear-provider.ts';
import type { Objection } from '../../platform/chain/judge-mined.ts';
import { objectToMined } from '../../platform/chain/object-to-mined.ts';
import type { ProviderHealth } from '../../platform/chain/provider-health.ts';
import type { Hex } from '../../platform/hex.ts';
import type { City } from '../context.ts';
import { type ClaimEvidence, type ClaimTerms, decideClaim } from './decide-claim.ts';
import type { ChainHead } from './read-head.ts';

/**
 * Every other configured provider is asked before anything final is done: it has to have the block, and to show the same in it. One that
 * has been silent or has stood still for a minute has no say (W9). What is not borne out keeps its sighting and decides nothing.
 */
export async function corroborate(
  { log, providerHealth }: Pick<City, 'log' | 'providerHealth'>,
  head: ChainHead,
  terms: ClaimTerms,
  reading: ReadonlyMap<Hex, ClaimEvidence>,
): Promise<ReadonlyMap<Hex, ClaimEvidence>> {
  const others = providerHealth.all.filter(({ provider }) => provider !== head.provider);
  const finals = [...reading].filter(([, evidence]) => decideClaim(evidence, terms).outcome !== 'unknown');
  if (others.length === 0 || finals.length === 0) return reading;
  const corroborated = new Map(reading);
  const hearing = {
    keys: finals.map(([hash]) => hash),
    askOne: (health: ProviderHealth) => objectToMined(health, head, terms.asset, finals),
  };
  await Promise.all(
    others.map(async (health) => {
      for (const [hash, why] of await hearProvider(providerHealth, health, hearing)) {
        const evidence = reading.get(hash);
        if (evidence !== undefined) corroborated.set(hash, { ...evidence, finalized: null });
        note(log, health, hash, why);
      }
    }),
  );
  return corroborated;
}

const MOST_TOLD = 1_000;
/** What was said already: it is asked again and again while it lasts. */
const told = new WeakMap<ProviderHealth, Map<Hex, Objection>>();

function note(log: City['log'], health: ProviderHealth, hash: Hex, why: Objection): void {
  const before = told.get(health) ?? new Map<Hex, Objection>();
  if (before.get(hash) === why) return;
  if (before.size >= MOST_TOLD) before.clear();
  told.set(health, before.set(hash, why));
  const fields = { tx_hash: hash, why, endpoint: health.provider.endpoint };
  if (why === 'disagrees') {
    health.noteDisagreement();
    log.error('claim_held', fields);
  } else log.warn('claim_held', fields);
}

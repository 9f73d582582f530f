import { hearProvider } from '../../platform/chain/hear-provider.ts';
import type { Objection } from '../../platform/chain/judge-mined.ts';
import { objectToMined } from '../../platform/chain/object-to-mined.ts';
import type { Standing } from '../../platform/chain/standing.ts';
import type { Hex } from '../../platform/hex.ts';
import type { City } from '../context.ts';
import { type ClaimEvidence, type ClaimTerms, decideClaim } from './decide-claim.ts';
import type { ChainHead } from './read-head.ts';

/**
 * Every other configured provider is asked before anything final is done: it has to have the block, and to show the same in it. One that
 * has been silent or has stood still for a minute has no say (W9). What is not borne out keeps its sighting and decides nothing.
 */
export async function bearOut(
  { log, standings }: Pick<City, 'log' | 'standings'>,
  head: ChainHead,
  terms: ClaimTerms,
  reading: ReadonlyMap<Hex, ClaimEvidence>,
): Promise<ReadonlyMap<Hex, ClaimEvidence>> {
  const others = standings.all.filter(({ provider }) => provider !== head.provider);
  const finals = [...reading].filter(([, evidence]) => decideClaim(evidence, terms).outcome !== 'unknown');
  if (others.length === 0 || finals.length === 0) return reading;
  const borneOut = new Map(reading);
  const hearing = {
    keys: finals.map(([hash]) => hash),
    askOne: (standing: Standing) => objectToMined(standing, head, terms.asset, finals),
  };
  await Promise.all(
    others.map(async (standing) => {
      for (const [hash, why] of await hearProvider(standings, standing, hearing)) {
        const evidence = reading.get(hash);
        if (evidence !== undefined) borneOut.set(hash, { ...evidence, finalized: null });
        note(log, standing, hash, why);
      }
    }),
  );
  return borneOut;
}

const MOST_TOLD = 1_000;
/** What was said already: it is asked again and again while it lasts. */
const told = new WeakMap<Standing, Map<Hex, Objection>>();

function note(log: City['log'], standing: Standing, hash: Hex, why: Objection): void {
  const before = told.get(standing) ?? new Map<Hex, Objection>();
  if (before.get(hash) === why) return;
  if (before.size >= MOST_TOLD) before.clear();
  told.set(standing, before.set(hash, why));
  const fields = { tx_hash: hash, why, endpoint: standing.provider.endpoint };
  if (why === 'disagrees') {
    standing.noteDisagreement();
    log.error('claim_held', fields);
  } else log.warn('claim_held', fields);
}

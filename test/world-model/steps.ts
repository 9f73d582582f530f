import { OFFER_STEPS } from '../../src/city/offers/offer-steps.ts';
import { LISTING_STATES } from '../../src/contract/vocabulary.ts';
import { CHECKOUT_STATES, DRAFT_STATES, OFFER_PHASES } from '../../src/contract/world-records.ts';
import { LISTING_STEPS } from '../../src/market/listings/listing-steps.ts';
import { DRAFT_STEPS } from '../../src/market/world/drafts/store.ts';
import { CHECKOUT_STEPS } from '../../src/market/world/store.ts';

type Table = Readonly<Record<string, Readonly<Record<string, string | Readonly<Record<string, string>>>>>>;

/** Whether one state leads to another in some acts, or none: several may lie between two looks. */
function walk(table: Table, states: readonly string[]): (from: string, to: string) => boolean {
  const next = new Map(states.map((state) => [state, new Set<string>()]));
  for (const steps of Object.values(table)) {
    for (const [from, step] of Object.entries(steps)) {
      for (const to of typeof step === 'string' ? [step] : Object.values(step))
        if (next.has(to)) next.get(from)?.add(to);
    }
  }
  const reached = new Map(states.map((from) => [from, reach(next, from)]));
  return (from, to) => reached.get(from)?.has(to) === true;
}

function reach(next: ReadonlyMap<string, ReadonlySet<string>>, from: string): ReadonlySet<string> {
  const found = new Set([from]);
  // A set is walked on while it grows.
  for (const state of found) for (const to of next.get(state) ?? []) found.add(to);
  return found;
}

export const MAY_BECOME = {
  offer: walk(OFFER_STEPS, OFFER_PHASES),
  listing: walk(LISTING_STEPS, LISTING_STATES),
  draft: walk(DRAFT_STEPS, DRAFT_STATES),
  checkout: walk(CHECKOUT_STEPS, CHECKOUT_STATES),
};

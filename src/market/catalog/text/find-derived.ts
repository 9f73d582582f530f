import { type Posting, setLevel } from '../sets/posting.ts';
import { beginningLevel, buildBeginning, planBeginning } from './beginning.ts';
import { beginningKey, type DerivedSets, keepBeginning, keepPhrase, keptDerived, phraseKey } from './derived-sets.ts';
import { buildPhrase, phraseLevel, phraseWords, planPhrase } from './phrase.ts';
import { stemOf } from './stem.ts';
import { postingOfStem } from './stem-table.ts';
import type { TextState } from './text-state.ts';
import { writeWaiting } from './waiting-levels.ts';

/** A set that is not there and is too much work to make in passing. */
export const MISSING = 'missing';
export type Found = Posting | null | typeof MISSING;

/** About a millisecond. */
const COST_IN_PASSING = 10_000;

/** Listings with a word that begins so; null when there are none. */
export function findBeginning(sets: DerivedSets, state: TextState, beginning: string): Found {
  const key = beginningKey(beginning);
  const known = keptDerived(sets, key);
  if (known !== null) return known.posting ?? postingOfStem(state.stems, known.stem);
  if (sets.building.has(key)) return MISSING;
  const plan = planBeginning(state, beginning);
  if (plan.whole.length === 0 && plan.partial.length === 0) return null;
  if (plan.isTypedStem) {
    keepBeginning(sets, state, beginning, null);
    return postingOfStem(state.stems, stemOf(beginning));
  }
  if (plan.cost > COST_IN_PASSING) return MISSING;
  const posting = atOnce(buildBeginning(state, plan));
  keepBeginning(sets, state, beginning, posting);
  return posting;
}

/** Listings with these words in a row; null when there are none. */
export function findPhrase(sets: DerivedSets, state: TextState, words: readonly string[]): Found {
  const ids = phraseWords(state, words);
  if (ids === null) return null;
  const key = phraseKey(words);
  const known = keptDerived(sets, key);
  if (known !== null) return known.posting;
  if (sets.building.has(key)) return MISSING;
  const plan = planPhrase(state, ids);
  if (plan.cost > COST_IN_PASSING) return MISSING;
  const posting = atOnce(buildPhrase(state, plan));
  keepPhrase(sets, words, posting);
  return posting;
}

/** Makes the set of a beginning in slices. */
export function makeBeginning(sets: DerivedSets, state: TextState, beginning: string): Promise<void> {
  return make(sets, beginningKey(beginning), async (touched) => {
    const steps = buildBeginning(state, planBeginning(state, beginning));
    const posting = await inSlices(sets, state, steps);
    for (const id of touched) setLevel(posting, id, beginningLevel(state, beginning, id));
    keepBeginning(sets, state, beginning, posting);
  });
}

/** Makes the set of a phrase in slices. */
export function makePhrase(sets: DerivedSets, state: TextState, words: readonly string[]): Promise<void> {
  return make(sets, phraseKey(words), async (touched) => {
    const ids = phraseWords(state, words);
    if (ids === null) return;
    const posting = await inSlices(sets, state, buildPhrase(state, planPhrase(state, ids)));
    for (const id of touched) setLevel(posting, id, phraseLevel(state, words, id));
    keepPhrase(sets, words, posting);
  });
}

/** Several who want the same set wait for one that is being made. */
function make(sets: DerivedSets, key: string, build: (touched: number[]) => Promise<void>): Promise<void> {
  const underWay = sets.building.get(key);
  if (underWay !== undefined) return underWay.done;
  const touched: number[] = [];
  // Begins after this turn, when changes are already noted.
  const done = Promise.resolve()
    .then(() => build(touched))
    .finally(() => sets.building.delete(key));
  sets.building.set(key, { done, touched });
  return done;
}

async function inSlices(sets: DerivedSets, state: TextState, steps: Generator<void, Posting>): Promise<Posting> {
  for (;;) {
    writeWaiting(state.waiting, state.stems);
    const step = steps.next();
    if (step.done === true) return step.value;
    await sets.giveWay();
  }
}

function atOnce(steps: Generator<void, Posting>): Posting {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

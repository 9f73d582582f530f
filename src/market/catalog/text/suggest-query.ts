import { nearWords } from './near-words.ts';
import { type ParsedQuery, parseQuery, type QueryTerm } from './parse-query.ts';
import { stemOf } from './stem.ts';
import type { TextState } from './text-state.ts';
import { wordsLike } from './word-table.ts';

/** One wanted word of the query, or an excluded term that stays as it is. */
interface Slot {
  readonly text: string;
  readonly listings: number;
  readonly isFixed: boolean;
}

const CANDIDATES = 10;
/** Looking for near words goes through all words of the market. */
const MOST_CORRECTED = 4;
const MOST_TRIES = 40;
const LONGEST_QUERY = 100;

/**
 * A near spelling of a query that matches something, or null. Phrases become plain words: what is offered is judged without making
 * sets for it, so it has to be a query whose words alone decide.
 */
export function suggestQuery(
  state: TextState,
  query: ParsedQuery,
  matches: (query: ParsedQuery) => boolean,
): string | null {
  const slots = query.terms.flatMap((term) => slotsOf(state, term));
  const order = slots.flatMap((slot, index) => (slot.isFixed ? [] : [index])).sort((a, b) => rankOf(slots, a, b));
  const unknown = order.filter((index) => slots[index]?.listings === 0);
  if (unknown.length > MOST_CORRECTED) return null;
  const near = new Map(
    order
      .slice(0, MOST_CORRECTED)
      .map((index) => [index, nearWords(state.words, slots[index]?.text ?? '', CANDIDATES)]),
  );
  const words = slots.map((slot, index) => (unknown.includes(index) ? (near.get(index)?.[0] ?? null) : slot.text));
  if (words.includes(null)) return null;
  const best = words.flatMap((word) => word ?? []);
  let tries = 0;
  for (const attempt of attempts(best, near)) {
    const text = attempt.join(' ');
    // A space ends the last word, so that its own forms have to match; as a beginning it then matches as well.
    const asked = parseQuery(`${text} `);
    if (text.length > LONGEST_QUERY || parseQuery(text).key === query.key) continue;
    if (matches(asked)) return text;
    tries += 1;
    if (tries === MOST_TRIES) return null;
  }
  return null;
}

/** The best guess for all unknown words, then each of the words in turn spelled in other ways. */
function* attempts(
  best: readonly string[],
  near: ReadonlyMap<number, readonly string[]>,
): Generator<readonly string[]> {
  yield best;
  for (const [index, candidates] of near) {
    for (const candidate of candidates) yield best.with(index, candidate);
  }
}

function slotsOf(state: TextState, term: QueryTerm): Slot[] {
  if (term.excluded) {
    const text = term.kind === 'phrase' ? `-"${term.words.join(' ')}"` : `-${term.words.join(' ')}`;
    return [{ text, listings: 0, isFixed: true }];
  }
  return term.words.map((text) => ({ text, listings: listingsWith(state, text, term.kind), isFixed: false }));
}

/** In how many listings the word is, at least about; 0 only when it is nowhere. */
function listingsWith(state: TextState, word: string, kind: QueryTerm['kind']): number {
  const stem = state.stems.ids.get(stemOf(word));
  const listings = stem === undefined ? 0 : (state.stems.postings[stem]?.count ?? 0);
  if (listings > 0 || kind !== 'beginning') return listings;
  const { texts } = state.words;
  return wordsLike(state.words, word).some((other) => (texts[other] ?? '').startsWith(word)) ? 1 : 0;
}

/** Unknown words first, then the rarest. */
function rankOf(slots: readonly Slot[], a: number, b: number): number {
  return (slots[a]?.listings ?? 0) - (slots[b]?.listings ?? 0) || a - b;
}

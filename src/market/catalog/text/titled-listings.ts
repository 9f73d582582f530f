import { listingTokens, type TextState } from './text-state.ts';
import { forEachTitled, titleWords, wordsHash } from './title-table.ts';
import { wordId } from './word-table.ts';

/** Returns the listings whose title has exactly these words, in any order. `corrected` holds what is searched in place of a word. */
export function titledListings(
  state: TextState,
  typed: ReadonlySet<string>,
  corrected: ReadonlyMap<string, string>,
): ReadonlySet<number> {
  const titled = new Set<number>();
  const words = new Set<number>();
  for (const word of typed) {
    for (const one of (corrected.get(word) ?? word).split(' ')) words.add(wordId(state.words, one));
  }
  if (words.size === 0 || words.has(0)) return titled;
  forEachTitled(state.titles, wordsHash(words), (id) => {
    const { tokens, count } = listingTokens(state, id);
    const title = titleWords(tokens, count);
    if (title.size === words.size && [...title].every((word) => words.has(word))) titled.add(id);
  });
  return titled;
}

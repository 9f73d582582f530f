import type { SearchReport } from './search-report.ts';

/** Words of a need that no listing has, and what was searched in spite of them. */
export interface SearchedNeed {
  /** Words as typed. Includes those in whose place another word was searched. */
  readonly absent: readonly string[];
  /** Whether another word was searched in place of one. */
  readonly isCorrected: boolean;
  /** The words that were searched. */
  readonly searched: readonly string[];
}

export function searchedNeed({ words, missing }: SearchReport): SearchedNeed {
  const known = words.filter(({ listings, used_as }) => listings > 0 || used_as !== undefined);
  const corrected = known.filter(({ used_as }) => used_as !== undefined);
  const unknown = words.filter((word) => !known.includes(word));
  return {
    absent: [...new Set([...[...corrected, ...unknown].map(({ word }) => word), ...missing])],
    isCorrected: corrected.length > 0,
    searched: known.map(({ word, used_as }) => used_as ?? word),
  };
}

export interface SearchAnswer {
  /** Null without words, and from earlier markets, which find only listings with every word. */
  readonly search: SearchReport | null;
  readonly total: number;
}

/**
 * Says in at most two sentences how the results differ from what was typed. Returns null if they do not. `quote` escapes and quotes text,
 * which may be a merchant's.
 */
export function describeSearch({ search, total }: SearchAnswer, quote: (text: string) => string): string | null {
  if (search === null) return null;
  const { absent, isCorrected, searched } = searchedNeed(search);
  const start = absent.length === 0 ? null : `No listing has ${listWords(absent.map(quote))}.`;
  const need = quote(searched.join(' '));
  if (total === 0) return start !== null && isCorrected ? `${start} Nothing fits ${need} either.` : start;
  const isPartial = search.matched === 'some' && search.missing.length === 0;
  if (start === null) return isPartial ? 'No listing has all of these words. These come closest.' : null;
  return isPartial ? `${start} These come closest to ${need}.` : `${start} Showing results for ${need}.`;
}

function listWords(words: readonly string[]): string {
  return [words.slice(0, -1).join(', '), words.at(-1) ?? ''].filter((part) => part !== '').join(' or ');
}

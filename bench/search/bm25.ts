import { stemmer } from 'stemmer';
import { STOP_WORDS } from './stop-words.ts';

const K1 = 1.2;
const B = 0.75;
const WORDS = /[\p{L}\p{N}]+/gu;
/** A run of characters in a script that is written without spaces. */
const UNSPACED = /([\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+)/u;

/** Returns the stems of a text's words, without stop words. Text of scripts without spaces gives each two neighbouring characters. */
export function stemsOf(text: string): string[] {
  const words = text.normalize('NFKC').toLowerCase().match(WORDS) ?? [];
  return words
    .flatMap((word) => word.split(UNSPACED))
    .filter((part) => part !== '' && !STOP_WORDS.has(part))
    .flatMap((part) => (/^[a-z]+$/.test(part) ? stemmer(part) : UNSPACED.test(part) ? pairsOf(part) : part));
}

function pairsOf(run: string): string[] {
  const characters = [...run];
  return characters.length === 1 ? characters : characters.slice(1).map((character, at) => characters[at] + character);
}

/**
 * Indexes texts for plain BM25: one bag of words for each text, and any word of a query counts. The index returns the places of the best
 * texts, best first; equals in the order of the texts.
 */
export function createBm25(texts: readonly string[]): (query: string, limit: number) => number[] {
  const bags = texts.map(stemsOf);
  const average = bags.reduce((sum, bag) => sum + bag.length, 0) / Math.max(1, bags.length);
  const postings = postingsOf(bags);
  return (query, limit) => {
    const scores = new Map<number, number>();
    for (const stem of new Set(stemsOf(query))) {
      const posting = postings.get(stem) ?? [];
      const rarity = Math.log(1 + (texts.length - posting.length + 0.5) / (posting.length + 0.5));
      for (const { place, count } of posting) {
        const length = (bags[place]?.length ?? 0) / average;
        const weight = (count * (K1 + 1)) / (count + K1 * (1 - B + B * length));
        scores.set(place, (scores.get(place) ?? 0) + rarity * weight);
      }
    }
    const ranked = [...scores].sort(([one, high], [other, low]) => low - high || one - other);
    return ranked.slice(0, limit).map(([place]) => place);
  };
}

interface Posting {
  place: number;
  count: number;
}

function postingsOf(bags: readonly (readonly string[])[]): Map<string, Posting[]> {
  const postings = new Map<string, Posting[]>();
  for (const [place, bag] of bags.entries()) {
    const counts = new Map<string, number>();
    for (const stem of bag) counts.set(stem, (counts.get(stem) ?? 0) + 1);
    for (const [stem, count] of counts) {
      const posting = postings.get(stem);
      if (posting === undefined) postings.set(stem, [{ place, count }]);
      else posting.push({ place, count });
    }
  }
  return postings;
}

import { stemOf } from '../../src/market/catalog/text/stem.ts';
import { LEVEL_GAINS, rarityWeight } from '../../src/market/catalog/text/term-levels.ts';
import type { SearchedTerm } from './naive-needs.ts';
import { levelOfBeginning, levelOfStem, type NaiveWords } from './naive-words.ts';

/** A part of a score: the level that a listing has in it, times its weight. */
interface Part {
  levelIn: (text: NaiveWords) => number;
  weight: number;
}

const MOST_WEIGHT = 511;

/** Weighs the terms by how many of these listings have them, corrected ones half. Of equal ones the higher weight counts. */
export function partsOf(texts: readonly NaiveWords[], terms: readonly SearchedTerm[]): Map<string, Part> {
  const parts = new Map<string, Part>();
  const add = (name: string, levelIn: Part['levelIn'], share: number): void => {
    const weight = Math.ceil(weightOf(texts, levelIn) * share);
    if ((parts.get(name)?.weight ?? 0) < weight) parts.set(name, { levelIn, weight });
  };
  for (const { kind, words, usedAs } of terms) {
    const [first = ''] = words;
    if (kind === 'beginning') add(`${first}*`, (text) => levelOfBeginning(text, first), 1);
    else
      for (const word of words) add(stemOf(word), (text) => levelOfStem(text, stemOf(word)), usedAs === null ? 1 : 0.5);
  }
  return parts;
}

function weightOf(texts: readonly NaiveWords[], levelIn: Part['levelIn']): number {
  return rarityWeight(texts.length, texts.filter((text) => levelIn(text) > 0).length);
}

/** Adds another spelling, which weighs as much as the words that it stands for, or more if it is rare. */
export function addSpelling(
  texts: readonly NaiveWords[],
  parts: Map<string, Part>,
  spelled: { word: string; covered: readonly string[] },
): void {
  const stem = stemOf(spelled.word);
  if (spelled.covered.length === 0 || parts.has(stem)) return;
  const levelIn = (text: NaiveWords): number => levelOfStem(text, stem);
  const sum = spelled.covered.reduce((all, name) => all + (parts.get(name)?.weight ?? 0), 0);
  parts.set(stem, { levelIn, weight: Math.max(Math.min(MOST_WEIGHT, sum), weightOf(texts, levelIn)) });
}

export function scoreOf(parts: ReadonlyMap<string, Part>): (text: NaiveWords) => number {
  const all = [...parts.values()];
  return (text) => all.reduce((score, { levelIn, weight }) => score + weight * (LEVEL_GAINS[levelIn(text)] ?? 0), 0);
}

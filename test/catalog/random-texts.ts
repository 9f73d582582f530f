import fc from 'fast-check';
import type { ListingText } from '../../src/market/catalog/text/text-index.ts';

/** Words with shared stems, shared beginnings, similar spellings and other scripts, and names of two words. */
export const WORDS: readonly string[] = [
  ...['run', 'runs', 'running', 'runner', 'art', 'arts', 'artist', 'article', 'artful', 'market', 'marketing'],
  ...['marketplace', 'universal', 'university', 'universe', 'cafe', 'Café', 'logo', 'lego', 'x', 'Müll', 'muell'],
  ...['人工', '工人', '人工知能', '人', '한국어', '한국', 'c++', 'C#', '.NET', 'kubernetes', 'k8s', 'colour', 'color'],
  ...['front', 'end', 'frontend', 'front-end', 'to', 'do', 'todo', 'the', 'command line', 'cli', 'interface'],
];

/** Queries in which every word can be found as it is typed, or as a beginning. */
export const QUERIES: readonly string[] = [
  ...['run ', 'run', 'runn', 'running', 'art', 'artis', 'arti ', 'mar', 'market', 'marketi', 'universi', 'universa'],
  ...['uni', '"run runs"', '"art artist"', '"人 工"', '人工', '人', '工 人', '"cafe"', '"runs"', 'art -artist'],
  ...['run -"run runs" art', '-art ', 'zzzqqq', 'cafe "logo art" mar', '"x x x" x', 'art run market ', '"logo'],
  ...['"artist unknown"', '知能 ', '+art run', '+art +run logo', 'the art', 'to do', 'front end', 'frontend run'],
  ...[
    '한국',
    '한국어 art',
    'c++ .net',
    '-c++ c#',
    'k8s',
    'mull',
    'Müll art',
    'muell',
    'color +colour ',
    'command line',
  ],
];

/** Queries with words that no listing has as they are typed. */
export const MISSPELLED: readonly string[] = [
  ...['runing', 'atrr', 'markt logo', 'univercity', '"lgoo art"', 'marketplaec run', 'caffe -art ', 'lxgo', 'artlogo'],
  ...['+runing art', 'kubernets frontnd', 'the markett', 'zzz qqq'],
];

const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 8 }).map((words) => words.join(' '));

export const listing: fc.Arbitrary<ListingText> = fc.record({
  title: text,
  tags: fc.array(fc.constantFrom('art', 'run-runs', 'logo-art', 'x', 'front-end', 'end-to-end'), { maxLength: 3 }),
  keywords: fc.array(fc.constantFrom('art', 'cafe logo', 'front', 'end', '人工', 'c#'), { maxLength: 3 }),
  merchant: fc.constantFrom('artist', 'x-x', 'mar-art'),
  description: text,
  preview: text,
});

/** A listing's new text, or null if it leaves. */
export interface TextChange {
  id: number;
  text: ListingText | null;
}

export const textChange: fc.Arbitrary<TextChange> = fc.record({
  id: fc.integer({ min: 1, max: 30 }),
  text: fc.option(listing, { freq: 3 }),
});

const piece = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...WORDS) },
  { weight: 2, arbitrary: fc.constantFrom(...WORDS).map((word) => `-${word}`) },
  { weight: 2, arbitrary: fc.constantFrom('+art', '+run', '+人工', '+front', '+logo', '+c++') },
  { weight: 2, arbitrary: fc.constantFrom('"run runs"', '"art"', '-"logo art"', '"front end"', '"人工"', '"end x"') },
  { weight: 2, arbitrary: fc.constantFrom('runing', 'artlogo', 'zzzqqq', 'univercity', 'fron', 'the', 'and', 'with') },
);

/** Needs of several words, with all signs. */
export const need: fc.Arbitrary<string> = fc
  .tuple(fc.array(piece, { minLength: 1, maxLength: 7 }), fc.constantFrom('', ' '))
  .map(([pieces, end]) => pieces.join(' ') + end);

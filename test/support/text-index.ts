import fc from 'fast-check';
import { forEachMember, type Posting } from '../../src/market/catalog/sets/posting.ts';
import { parseQuery } from '../../src/market/catalog/text/parse-query.ts';
import type { ListingText, TextIndex } from '../../src/market/catalog/text/text-index.ts';
import { listingTokens } from '../../src/market/catalog/text/text-state.ts';
import { forEachTitled, titleWords, wordsHash } from '../../src/market/catalog/text/title-table.ts';
import { FIRST_WORD } from '../../src/market/catalog/text/tokens.ts';

/** Words with shared stems and beginnings, other scripts, abbreviations, and letters that fold. */
const WORDS = [
  ...['run', 'runs', 'running', 'runner', 'art', 'arts', 'artist', 'market', 'marketing', 'marketplace', 'universal'],
  ...[
    'university',
    'café',
    'Größe',
    '人工知能',
    '한국어',
    'x',
    'k8s',
    'kubernetes',
    'front end',
    'c++',
    "don't",
    '😀',
    'GPT-4',
  ],
];
const QUERIES = [
  ...[
    'run',
    'runn',
    'art market',
    '"run runs"',
    'mar',
    '+art -artist x',
    'runing',
    'cafe',
    '한국',
    '人工',
    'kubernetes',
  ],
  ...['frontend', 'groesse', 'unknown art', 'marketing university run art x'],
];

const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 8 }).map((words) => words.join(' '));
const label = fc.array(fc.constantFrom('art', 'run-runs', 'front-end', 'x'), { maxLength: 3 });

export const randomText: fc.Arbitrary<ListingText> = fc.record({
  title: text,
  tags: label,
  keywords: label,
  merchant: fc.constantFrom('artist', 'x-x', 'mar-art'),
  description: text,
  preview: text,
});

/** Returns texts whose words are distributed like those of a language: few are in most texts, most are in few. */
export function seededTexts(seed: number, count: number): ListingText[] {
  let state = seed;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const word = (): string => {
    const rank = Math.floor(3_000 ** (next(1_000_000) / 1_000_000));
    return rank <= WORDS.length ? (WORDS[rank - 1] ?? '') : `wo${rank.toString(36)}rd`;
  };
  const words = (most: number): string => Array.from({ length: 1 + next(most) }, word).join(' ');
  return Array.from({ length: count }, () => ({
    title: words(5),
    tags: [word(), word()],
    keywords: [],
    merchant: `seller-${next(20)}`,
    description: words(40),
    preview: words(10),
  }));
}

function membersOf(posting: Posting): number[] {
  const members: number[] = [];
  forEachMember(posting, (id, level) => members.push(id * 8 + level));
  return members;
}

/** Returns everything in an index, whatever numbers its words and stems have, and what it finds. */
export function describeIndex(index: TextIndex, live: ReadonlyMap<number, ListingText>): object {
  const state = index.state();
  const { words, stems } = state;
  const named = new Map<string, object>();
  const groups = new Map<string, number>();
  for (const [id, word] of words.texts.entries()) {
    if (word === '') continue;
    const stem = words.stems[id] as number;
    named.set(word, { listings: words.listings[id], stem: stems.texts[stem], mask: words.masks[id] });
    groups.set(word, words.groupWords[words.groups[id] as number]?.filter((one) => one === id).length ?? -1);
  }
  const sets = [...stems.ids].map(([stem, id]) => [
    stem,
    { words: stems.words[id], members: membersOf(stems.postings[id] as Posting) },
  ]);
  const sequences: Record<number, string> = {};
  for (let id = 1; id <= state.highest; id += 1) {
    if (!index.has(id)) continue;
    const { tokens, count } = listingTokens(state, id);
    const titled: number[] = [];
    forEachTitled(state.titles, wordsHash(titleWords(tokens, count)), (one) => titled.push(one));
    const texts = [...tokens.subarray(0, count)].map((token) =>
      token < FIRST_WORD ? `<${token}>` : words.texts[token],
    );
    sequences[id] = `${texts.join(' ')} titled ${titled.toSorted((a, b) => a - b).join()}`;
  }
  return {
    listings: [index.listings(), live.size, state.titles.count],
    terms: index.terms(),
    words: Object.fromEntries([...named].toSorted(([a], [b]) => (a < b ? -1 : 1))),
    groups: [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    sets: Object.fromEntries(sets.toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1))),
    sequences,
    answers: QUERIES.map((q) => answerOf(index, q)),
  };
}

function answerOf(index: TextIndex, q: string): unknown {
  const resolution = index.resolve(parseQuery(q), null);
  const search = index.compile(resolution);
  if (search === null) return 'unprepared';
  return JSON.stringify([resolution, search], (name, value) => {
    // Their order is that of the changes, and nothing depends on it.
    if (name === 'titled') return [...value].toSorted((a, b) => a - b);
    if (value instanceof Set) return [...value];
    if (typeof value === 'object' && value !== null && 'entries' in value && 'planes' in value) return membersOf(value);
    return value;
  });
}

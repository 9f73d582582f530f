import { AISLES } from '../../src/contract/vocabulary.ts';
import type { Dice } from './dice.ts';
import { type KindList, kindOf, shelfPath } from './draw-kinds.ts';
import type { Seeded } from './seed.ts';

/** Ranges of ranks in the vocabulary, whose words are in about 0.03 %, 1 to 2 %, and 25 to 80 % of the listings. */
const RARE = [30_000, 50_000] as const;
const MIDDLING = [500, 1_200] as const;
const COMMON = [6, 40] as const;
const ANY = [60, 50_000] as const;
/** More rare words or needs than a market caches, so that each answer is made anew. */
const DISTINCT_RARE = 3_000;
/** Ranges of the words of a need, by the number of words. */
const NEEDS = {
  'need, 3 words': [COMMON, MIDDLING, RARE],
  'need, 6 words': [COMMON, COMMON, MIDDLING, MIDDLING, RARE, RARE],
  'need, 12 common words': new Array<readonly [number, number]>(12).fill(COMMON),
} as const;

/** Adds first pages of shelves by filter and by word. */
export function addShelfKinds({ add, many, walked }: KindList, { vocabulary }: Seeded): void {
  const { words, tags } = vocabulary;
  const draw = ([low, high]: readonly [number, number], dice: Dice): string => words[low + dice.int(high - low)] ?? '';

  add('newest', () => kindOf('newest', [['/api/shelves', { sort: 'new' }]]));
  many('aisle', (dice) => {
    const aisle = dice.pick(AISLES);
    return [shelfPath({ aisle }), { sort: 'new', aisle }];
  });
  walked('tag', (dice) => {
    const tag = dice.pick(tags);
    return [shelfPath({ tag }), { sort: 'new', tag }];
  });
  walked('aisle+tag', (dice) => {
    const [aisle, tag] = [dice.pick(AISLES), dice.pick(tags)];
    return [shelfPath({ aisle, tag }), { sort: 'new', aisle, tag }];
  });
  many('rare word', (dice) => byWords(draw(RARE, dice), 'relevance'), DISTINCT_RARE);
  many('rare word, new', (dice) => byWords(draw(RARE, dice), 'new'), DISTINCT_RARE);
  walked('middling word', (dice) => byWords(draw(MIDDLING, dice), 'relevance'));
  walked('middling word, new', (dice) => byWords(draw(MIDDLING, dice), 'new'));
  walked('common word', (dice) => byWords(draw(COMMON, dice), 'relevance'));
  walked('common word, new', (dice) => byWords(draw(COMMON, dice), 'new'));
  walked('common word, karma', (dice) => byWords(draw(COMMON, dice), 'karma'));
  walked('two words, karma', (dice) => byWords(`${draw(COMMON, dice)} ${draw(MIDDLING, dice)}`, 'karma'));
  for (const [name, ranges] of Object.entries(NEEDS)) {
    many(name, (dice) => [shelfPath({ q: ranges.map((range) => draw(range, dice)).join(' ') }), null], DISTINCT_RARE);
  }
  many('beginning of a word', (dice) => [shelfPath({ q: draw(ANY, dice).slice(0, 4) }), null]);
  many('phrase', (dice) => [shelfPath({ q: `"${draw(COMMON, dice)} ${draw(COMMON, dice)}"` }), null]);
}

function byWords(words: string, sort: 'new' | 'karma' | 'relevance'): [string, { words: string; sort: typeof sort }] {
  return [shelfPath(sort === 'relevance' ? { q: words } : { q: words, sort }), { words, sort }];
}

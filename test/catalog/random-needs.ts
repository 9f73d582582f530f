import fc from 'fast-check';
import type { NaiveNeed, NaivePart } from './naive-needs.ts';

/** Needs in words of `random-shelves.ts`: some as listings have them, some misspelled, joined, spelled in another way, or in none. */

const OFTEN = ['lamp', 'lamp', 'lamp', 'map', 'map', 'brass', 'brass'];
const SELDOM = [
  'lamps',
  'mapper',
  'brassy',
  'seven7',
  'cafe',
  'house',
  'atlas',
  '\u5730',
  '\u56f3',
  '\u5730\u56f3\u9928',
];
const SPELLINGS = [
  'front-end',
  'frontend',
  'front',
  'end',
  'backend',
  'k8s',
  'kubernetes',
  'm\u00fcll',
  'mull',
  'muell',
  'color',
];
const WRONG = [
  'nowhere',
  'lampp',
  'lmap',
  'brasss',
  'altas',
  'lampligth',
  'lampilght',
  'mapbrass',
  'kubernets',
  'kbernetse',
  'kolour',
];
const OTHERS = [
  'c++',
  'node.js',
  'nodejs',
  'to do',
  'todo',
  'zzzz',
  'zz9',
  'house-lamp',
  '\u043a\u0430\u0440\u0442\u0430',
  '\u043a\u0430\u0440\u0442\u044b',
];
const STOP_WORDS = ['the', 'for', 'with', 'need'];

const anyWord = fc.oneof(
  { weight: 7, arbitrary: fc.constantFrom(...OFTEN) },
  { weight: 3, arbitrary: fc.constantFrom(...SELDOM) },
  { weight: 3, arbitrary: fc.constantFrom(...SPELLINGS) },
  { weight: 2, arbitrary: fc.constantFrom(...WRONG) },
  { weight: 1, arbitrary: fc.constantFrom(...OTHERS) },
  { weight: 1, arbitrary: fc.constantFrom(...STOP_WORDS) },
);

const need = fc.oneof(
  { weight: 8, arbitrary: fc.constant<NaivePart['need']>('wanted') },
  { weight: 1, arbitrary: fc.constant<NaivePart['need']>('required') },
  { weight: 1, arbitrary: fc.constant<NaivePart['need']>('excluded') },
);
const words = fc
  .record({ need, text: anyWord })
  .map(({ need: first, text }) =>
    text
      .split(' ')
      .map((one, at): NaivePart => ({ need: at === 0 ? first : 'wanted', isQuoted: false, isOpen: false, text: one })),
  );
const phrase = fc
  .record({ isExcluded: fc.boolean(), parts: fc.array(anyWord, { minLength: 1, maxLength: 2 }) })
  .map(({ isExcluded, parts }): NaivePart[] => [
    { need: isExcluded ? 'excluded' : 'required', isQuoted: true, isOpen: false, text: parts.join(' ') },
  ]);
const some = fc.oneof({ weight: 8, arbitrary: words }, { weight: 1, arbitrary: phrase });

const BEGINNINGS = ['lam', 'lamp', 'map', 'bras', 'caf', 'atl', 'kube', 'fron', 'the', 'lampp', 'zzzz', 'to'];
const last = fc.record({ isRequired: fc.integer({ min: 0, max: 7 }), text: fc.constantFrom(...BEGINNINGS) }).map(
  ({ isRequired, text }): NaivePart => ({
    need: isRequired === 0 ? 'required' : 'wanted',
    isQuoted: false,
    isOpen: true,
    text,
  }),
);

const parts = fc
  .tuple(
    fc.oneof(
      { weight: 3, arbitrary: fc.array(some, { minLength: 1, maxLength: 2, size: 'max' }) },
      { weight: 2, arbitrary: fc.array(some, { maxLength: 5, size: 'max' }) },
    ),
    fc.option(last, { nil: null, freq: 1 }),
  )
  .map(([before, open]) => [...before.flat(), ...(open === null ? [] : [open])])
  .filter((all) => all.length > 0);

export const randomNeed: fc.Arbitrary<NaiveNeed> = fc.record({
  parts,
  match: fc.integer({ min: 0, max: 5 }).map((die) => (die === 0 ? 'all' : 'any')),
});

const SIGNS = { wanted: '', required: '+', excluded: '-' };

/** Writes a need as a person types it. */
export function textOfNeed({ parts: all }: NaiveNeed): string {
  const texts = all.map(({ need: sign, isQuoted, text }) =>
    isQuoted ? (sign === 'excluded' ? `-"${text}"` : `"${text}"`) : SIGNS[sign] + text,
  );
  // A space after the last word marks it as complete.
  return `${texts.join(' ')}${all.at(-1)?.isOpen === true ? '' : ' '}`;
}

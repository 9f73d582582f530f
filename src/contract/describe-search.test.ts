import { expect, test } from 'vitest';
import { describeSearch } from './describe-search.ts';
import type { SearchReport } from './search-report.ts';

type Words = SearchReport['words'];

const quote = (text: string): string => `<${text}>`;

/** Describes a search whose words are given as `typed`, `typed=searched` or, if no listing has them, `typed!`. */
function described(words: string, { missing = [] as string[], matched = 'all' as 'all' | 'some', total = 3 } = {}) {
  const read = words.split(' ').map((text): Words[number] => {
    const [word = '', used] = text.replace('!', '').split('=');
    return { word, listings: text.endsWith('!') ? 0 : 2, ...(used === undefined ? {} : { used_as: used }) };
  });
  return describeSearch({ search: { words: read, ignored: ['the'], missing, matched }, total }, quote);
}

test.each<[string, Parameters<typeof described>[1], string | null]>([
  ['explain finality', {}, null],
  ['explain finality', { matched: 'some' }, 'No listing has all of these words. These come closest.'],
  ['explain finality', { matched: 'some', total: 0 }, null],
  ['explain finalty=finality', {}, 'No listing has <finalty>. Showing results for <explain finality>.'],
  [
    'explain finalty=finality',
    { matched: 'some' },
    'No listing has <finalty>. These come closest to <explain finality>.',
  ],
  [
    'explain finalty=finality',
    { matched: 'some', total: 0 },
    'No listing has <finalty>. Nothing fits <explain finality> either.',
  ],
  [
    'explain finality',
    { missing: ['please'], matched: 'some' },
    'No listing has <please>. Showing results for <explain finality>.',
  ],
  [
    'finalty=finality explian=explain',
    { missing: ['quux'] },
    'No listing has <finalty>, <explian> or <quux>. Showing results for <finality explain>.',
  ],
  ['quux! zorp!', { matched: 'some', total: 0 }, 'No listing has <quux> or <zorp>.'],
])('%s with %o', (words, more, said) => {
  expect(described(words, more)).toBe(said);
});

test('without words, or from an earlier market, there is nothing to say', () => {
  expect(describeSearch({ search: null, total: 0 }, quote)).toBeNull();
});

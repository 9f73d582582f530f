import { beforeEach, describe, expect, test } from 'vitest';
import { compileNow, type Match, members, rankedMatches, resolutionOf } from '../../../../test/catalog/text-search.ts';
import { createTextIndex, type ListingText, type TextIndex } from './text-index.ts';

const nothing: ListingText = { title: '', tags: [], keywords: [], merchant: '', description: '', preview: '' };

let index: TextIndex;
let live: Set<number>;

function put(id: number, text: Partial<ListingText>): void {
  index.put(id, { ...nothing, ...text });
  live.add(id);
}

/** Returns the listings with any word of the need, best first. */
function find(q: string, match: Match = 'any'): number[] {
  return rankedMatches(compileNow(index, resolutionOf(index, q, match)), live).map(({ id }) => id);
}

/** Returns the listings with all words, best first. */
function findAll(q: string): number[] {
  return find(q, 'all');
}

beforeEach(() => {
  live = new Set();
  index = createTextIndex({ giveWay: async () => {} });
});

describe('what is found', () => {
  test('a word in any public field, in any form, case and accent', () => {
    put(1, { title: 'Logo designs' });
    put(2, { tags: ['web-design'] });
    put(3, { merchant: 'designer-ann' });
    put(4, { description: 'I am DESIGNING it' });
    put(5, { preview: 'désigned' });
    put(6, { title: 'resign' });
    expect(find('design ').sort()).toEqual([1, 2, 3, 4, 5]);
    expect(find('Designed ').sort()).toEqual([1, 2, 3, 4, 5]);
  });

  test('with all words, all have to be there', () => {
    put(1, { title: 'red fox', preview: 'jumps' });
    put(2, { title: 'red' });
    expect(findAll('jump red ')).toEqual([1]);
    expect(findAll('red wolf ')).toEqual([]);
  });

  test('with all words, the last one may be a beginning', () => {
    put(1, { title: 'marketplace' });
    put(2, { title: 'market' });
    put(3, { title: 'marking' });
    expect(findAll('market').sort()).toEqual([1, 2]);
    expect(findAll('marketp')).toEqual([1]);
    expect(findAll('market ')).toEqual([2]);
    expect(findAll('mar').sort()).toEqual([1, 2, 3]);
    expect(findAll('ma')).toEqual([]);
  });

  test('a beginning longer than the stem finds the words that begin so, and not all with their stem', () => {
    put(1, { title: 'university' });
    put(2, { title: 'universal' });
    put(3, { title: 'universe universities' });
    expect(findAll('universi').sort()).toEqual([1, 3]);
    expect(findAll('universa')).toEqual([2]);
  });

  test('a phrase is these very words in a row within one field or tag', () => {
    put(1, { title: 'the art deco pack' });
    put(2, { title: 'deco art' });
    put(3, { title: 'some art', description: 'deco' });
    put(4, { tags: ['art', 'deco'] });
    put(5, { tags: ['art-deco'] });
    put(6, { title: 'arts deco' });
    expect(find('"art deco"').sort()).toEqual([1, 5]);
    expect(findAll('"Art, Deco" pack ')).toEqual([1]);
    expect(find('"Art, Deco" pack ')).toEqual([1, 5]);
    expect(find('"arts"')).toEqual([6]);
    expect(find('"deco art deco"')).toEqual([]);
  });

  test('what is excluded does not come', () => {
    put(1, { title: 'art deco' });
    put(2, { title: 'art nouveau' });
    put(3, { title: 'deco art' });
    expect(find('art -nouveau ').sort()).toEqual([1, 3]);
    expect(find('art -"art deco"').sort()).toEqual([2, 3]);
    expect(find('art -unheard ').sort()).toEqual([1, 2, 3]);
    expect(find('art -art ')).toEqual([]);
  });

  test.each(['any', 'all'] as const)(
    'with %s word, only excluding wants everything else, and marks nothing',
    (match) => {
      put(1, { title: 'art' });
      put(2, { title: 'logo' });
      const compile = (q: string) => compileNow(index, resolutionOf(index, q, match));
      const search = compile('-art');
      expect(search).toMatchObject({ must: [], wanted: [], matchesNothing: false, scored: [] });
      expect(search.mustNot.map(({ count }) => count)).toEqual([1]);
      expect(find('-art', match)).toEqual([2]);
      for (const q of ['-"', 'unheard', '"un heard"', '+unheard', '-art unheard ']) {
        expect(compile(q), q).toMatchObject({ wanted: [], matchesNothing: true });
        expect(find(q, match), q).toEqual([]);
      }
    },
  );

  test('text without spaces is found by any part of it', () => {
    put(1, { title: '人工知能の本' });
    put(2, { title: '知人の工場' });
    put(3, { title: '한국어 모델' });
    expect(findAll('人工知能')).toEqual([1]);
    expect(find('人工知能')).toEqual([1]);
    expect(find('知 人').sort()).toEqual([1, 2]);
    expect(findAll('知能の')).toEqual([1]);
    for (const q of ['한국', '한국어', '한', '국어', '어', '한국어를', '모델']) expect(find(q), q).toEqual([3]);
  });

  test('any word is enough, and more of them come first', () => {
    put(1, { title: 'red fox', preview: 'jumps' });
    put(2, { title: 'red' });
    put(3, { title: 'blue' });
    expect(find('jump red wolf ')).toEqual([1, 2]);
    expect(find('the red wolf that jumps over it')).toEqual([1, 2]);
    expect(find('the over it')).toEqual([]);
  });

  test('what is required is there in all, and other words rank', () => {
    put(1, { title: 'red fox' });
    put(2, { title: 'red wolf' });
    put(3, { title: 'blue wolf' });
    expect(find('+red wolf ')).toEqual([2, 1]);
    expect(find('"red" wolf ')).toEqual([2, 1]);
    expect(find('+red +blue wolf ')).toEqual([]);
    expect(find('+red wolf -fox ')).toEqual([2]);
    expect(find('+unheard wolf ')).toEqual([]);
  });

  test('names with signs are words of their own', () => {
    put(1, { title: 'C++ templates' });
    put(2, { title: 'C# templates' });
    put(3, { title: 'C templates' });
    put(4, { title: '.NET (cpp)' });
    put(5, { title: 'the net' });
    put(6, { description: '使用C++开发' });
    expect(find('c++').sort()).toEqual([1, 4, 6]);
    expect([find('c#'), find('csharp'), find('c'), find('c ')]).toEqual([[2], [2], [3], [3]]);
    expect([find('.net'), find('dotnet'), find('net')]).toEqual([[4], [4], [5]]);
  });

  test.each([
    [['front end', 'front-end', 'frontend', 'Front-End'], 'all three ways'],
    [['node.js', 'nodejs', 'node js'], 'names with a dot'],
    [['kubernetes', 'k8s'], 'short forms'],
    [['organise', 'organize', 'organising'], 'British and American'],
    [['Müll', 'muell'], 'umlauts as two letters'],
    [['Müll', 'mull'], 'umlauts without dots'],
    [['to do', 'todo', 'to-do'], 'names of stop words'],
    [['machine learning', 'ML'], 'initials'],
    [['command line interface', 'CLI'], 'a name that holds another'],
  ])('%j are found by each other: %s', (forms) => {
    for (const [at, form] of forms.entries()) put(at + 1, { description: `a ${form} thing` });
    put(99, { description: 'wholly different' });
    const all = forms.map((_, at) => at + 1);
    for (const form of forms)
      expect(
        find(form).sort((a, b) => a - b),
        form,
      ).toEqual(all);
    // Each form is found also where it is the only one.
    for (const [at, form] of forms.entries()) {
      index.remove(at + 1);
      live.delete(at + 1);
      if (live.size > 1) expect(find(form).length, form).toBe(live.size - 1);
    }
  });

  test('variants change no phrase', () => {
    put(1, { title: 'front end of a back end', description: 'a Müll thing' });
    for (const q of ['"frontend backend"', '"end frontend"', '"mull muell"', '"muell thing"', '"backend a"']) {
      expect(find(q), q).toEqual([]);
    }
    for (const q of ['"frontend"', '"front end of"', '"mull thing"', '"muell"']) expect(find(q), q).toEqual([1]);
  });

  test('a misspelled word finds what its nearest spelling does', () => {
    put(1, { title: 'explain finality' });
    put(2, { title: 'explain' });
    expect(find('please explian finalty')).toEqual([1, 2]);
    expect(findAll('explian ')).toEqual([]);
    expect(find('imageeditor explain').sort()).toEqual([1, 2]);
  });
});

describe('order', () => {
  test('title before tag, keyword and seller; more of the word first', () => {
    const rest = 'lorem ipsum dolor sit amet '.repeat(20);
    put(1, { title: 'jazz', description: rest });
    put(2, { tags: ['jazz'], description: rest });
    put(3, { merchant: 'jazz', description: rest });
    put(4, { description: `jazz ${rest}` });
    put(5, { title: 'jazz', tags: ['jazz'], description: `jazz ${rest}` });
    put(6, { preview: `jazz ${rest}` });
    put(7, { keywords: ['jazz'], description: rest });
    const found = find('jazz ');
    expect(found.slice(0, 2)).toEqual([5, 1]);
    const place = (id: number): number => found.indexOf(id);
    expect(place(2)).toBeLessThan(place(7));
    expect(place(7)).toBeLessThan(place(3));
    expect(place(7)).toBeLessThan(place(6));
  });

  test('a word counts once in tags and once in keywords', () => {
    put(1, { tags: ['jazz-band'], keywords: ['jazz'], description: 'one two' });
    put(2, { tags: ['jazz', 'jazz-jazz'], keywords: ['jazz', 'jazz jazz'], description: '' });
    put(3, { tags: ['jazz'], keywords: ['jazz'], description: 'one two three' });
    const levels = compileNow(index, resolutionOf(index, 'jazz ')).scored.flatMap(({ posting }) => members(posting));
    expect(new Set(levels.map(([, level]) => level)).size).toBe(1);
  });

  test('a rare word counts for more than a common one', () => {
    for (let id = 1; id <= 50; id += 1) put(id, { description: 'common words here' });
    put(60, { title: 'common', description: 'rare here' });
    put(61, { title: 'rare', description: 'common here' });
    expect(find('common rare ').slice(0, 2)).toEqual([61, 60]);
    expect(findAll('common rare ')).toEqual([61, 60]);
  });
});

describe('titles', () => {
  function titled(q: string, match: Match = 'any'): number[] {
    return [...compileNow(index, resolutionOf(index, q, match)).titled].sort((a, b) => a - b);
  }

  test('of exactly the words come first, in any order, case and number', () => {
    put(1, { title: 'Art of the Deco' });
    put(2, { title: 'deco of the art, the art' });
    put(3, { title: 'art deco' });
    put(4, { title: 'art of the deco pack' });
    for (const match of ['any', 'all'] as const) {
      expect(titled('art of the deco ', match)).toEqual([1, 2]);
      expect(titled('"Art" deco of the ', match)).toEqual([1, 2]);
      expect(titled('deco art ', match)).toEqual([3]);
      expect(titled('arts deco ', match)).toEqual([]);
      expect(titled('art', match)).toEqual([]);
    }
    put(1, { title: 'other' });
    index.remove(2);
    expect(titled('art of the deco ')).toEqual([]);
    expect(titled('other')).toEqual([1]);
  });

  test('are found in spite of a misspelling, and never by the words of a variant alone', () => {
    put(1, { title: 'frontend finality' });
    put(2, { title: '한국어 모델' });
    expect(titled('finalty frontend ')).toEqual([1]);
    expect(titled('frontendfinality ')).toEqual([1]);
    expect(titled('front end finality ')).toEqual([]);
    expect(titled('모델 한국어 ')).toEqual([2]);
    expect(titled('-frontend')).toEqual([]);
  });
});

describe('changes', () => {
  test('a new text takes the place of the old one, in kept sets too', () => {
    put(1, { title: 'art deco' });
    put(2, { title: 'art deco poster' });
    expect([find('"art deco"').sort(), findAll('pos')]).toEqual([[1, 2], [2]]);
    put(1, { title: 'art poster' });
    put(2, { title: 'post' });
    expect([find('"art deco"'), findAll('pos').sort(), findAll('deco ')]).toEqual([[], [1, 2], []]);
    expect(index.listings()).toBe(2);
    expect(index.terms()).toBe(3);
  });

  test('a beginning that was only its own word learns of others', () => {
    put(1, { title: 'market' });
    expect(findAll('market')).toEqual([1]);
    put(2, { title: 'marketplace' });
    expect(findAll('market').sort()).toEqual([1, 2]);
    index.remove(1);
    index.remove(1);
    expect(findAll('market')).toEqual([2]);
    index.remove(2);
    expect(findAll('market')).toEqual([]);
    expect([index.listings(), index.terms()]).toEqual([0, 0]);
  });

  test('a phrase whose words left and came back is found again', () => {
    put(1, { title: 'art deco' });
    expect(find('"art deco"')).toEqual([1]);
    index.remove(1);
    put(2, { title: 'wholly other words' });
    expect(find('"art deco"')).toEqual([]);
    put(3, { title: 'new deco by art deco' });
    expect(find('"art deco"')).toEqual([3]);
  });

  test('memory does not grow with edits', () => {
    const edit = (round: number): void => {
      for (let id = 1; id <= 200; id += 1) put(id, { title: `edit ${round} of ${id} word${round * 1_000 + id}` });
    };
    for (let round = 0; round < 20; round += 1) edit(round);
    const before = index.bytes();
    for (let round = 20; round < 300; round += 1) edit(round);
    expect(index.bytes()).toBeLessThan(before * 1.5 + 2_000_000);
    expect(index.terms()).toBeLessThan(200 * 3);
  });
});

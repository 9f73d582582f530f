import { beforeEach, describe, expect, test } from 'vitest';
import { forEachMember } from '../sets/posting.ts';
import { parseQuery } from './parse-query.ts';
import { createTextIndex, type ListingText, type TextIndex } from './text-index.ts';

const nothing: ListingText = { title: '', tags: [], merchant: '', description: '', preview: '' };

let index: TextIndex;

function put(id: number, text: Partial<ListingText>): void {
  index.put(id, { ...nothing, ...text });
}

/** Returns the matching listings, best first. */
function find(q: string): number[] {
  const search = index.compile(parseQuery(q));
  if (search === null) throw new Error(`${q} is not prepared`);
  if (search.matchesNothing) return [];
  const scores = new Map<number, number>();
  for (const posting of search.must) forEachMember(posting, (id) => scores.set(id, (scores.get(id) ?? 0) + 1));
  for (const [id, count] of scores) if (count < search.must.length) scores.delete(id);
  for (const posting of search.mustNot) forEachMember(posting, (id) => scores.delete(id));
  for (const id of scores.keys()) scores.set(id, 0);
  for (const { posting, weight } of search.scored) {
    forEachMember(posting, (id, level) => {
      const score = scores.get(id);
      if (score !== undefined) scores.set(id, score + weight * level);
    });
  }
  return [...scores].sort(([a, scoreA], [b, scoreB]) => scoreB - scoreA || b - a).map(([id]) => id);
}

beforeEach(() => {
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

  test('all words have to be there', () => {
    put(1, { title: 'red fox', preview: 'jumps' });
    put(2, { title: 'red' });
    expect(find('jump red ')).toEqual([1]);
    expect(find('red wolf ')).toEqual([]);
  });

  test('the last word may be a beginning', () => {
    put(1, { title: 'marketplace' });
    put(2, { title: 'market' });
    put(3, { title: 'marking' });
    expect(find('market').sort()).toEqual([1, 2]);
    expect(find('marketp')).toEqual([1]);
    expect(find('market ')).toEqual([2]);
    expect(find('mar').sort()).toEqual([1, 2, 3]);
    expect(find('ma')).toEqual([]);
  });

  test('a beginning longer than the stem finds the words that begin so, and not all with their stem', () => {
    put(1, { title: 'university' });
    put(2, { title: 'universal' });
    put(3, { title: 'universe universities' });
    expect(find('universi').sort()).toEqual([1, 3]);
    expect(find('universa')).toEqual([2]);
  });

  test('a phrase is these very words in a row within one field or tag', () => {
    put(1, { title: 'the art deco pack' });
    put(2, { title: 'deco art' });
    put(3, { title: 'some art', description: 'deco' });
    put(4, { tags: ['art', 'deco'] });
    put(5, { tags: ['art-deco'] });
    put(6, { title: 'arts deco' });
    expect(find('"art deco"').sort()).toEqual([1, 5]);
    expect(find('"Art, Deco" pack ')).toEqual([1]);
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

  test('a query that only excludes wants everything else, and one without words nothing', () => {
    put(1, { title: 'art' });
    const search = index.compile(parseQuery('-art'));
    expect(search).toMatchObject({ must: [], matchesNothing: false, scored: [] });
    expect(search?.mustNot.map(({ count }) => count)).toEqual([1]);
    expect(index.compile(parseQuery('-"'))).toMatchObject({ must: [], mustNot: [], matchesNothing: true });
    expect(index.compile(parseQuery('unheard'))).toMatchObject({ must: [], mustNot: [], matchesNothing: true });
  });

  test('text without spaces is found by any part of it', () => {
    put(1, { title: '人工知能の本' });
    put(2, { title: '知人の工場' });
    expect(find('人工知能')).toEqual([1]);
    expect(find('知 人').sort()).toEqual([1, 2]);
  });
});

describe('order', () => {
  test('title before tag, tag before seller, seller before text; more of the word first', () => {
    const rest = 'lorem ipsum dolor sit amet '.repeat(20);
    put(1, { title: 'jazz', description: rest });
    put(2, { tags: ['jazz'], description: rest });
    put(3, { merchant: 'jazz', description: rest });
    put(4, { description: `jazz ${rest}` });
    put(5, { title: 'jazz', tags: ['jazz'], description: `jazz ${rest}` });
    expect(find('jazz ')).toEqual([5, 1, 2, 3, 4]);
  });

  test('a rare word counts for more than a common one', () => {
    for (let id = 1; id <= 50; id += 1) put(id, { description: 'common words here' });
    put(60, { title: 'common', description: 'rare here' });
    put(61, { title: 'rare', description: 'common here' });
    expect(find('common rare ')).toEqual([61, 60]);
  });
});

describe('changes', () => {
  test('a new text takes the place of the old one, in kept sets too', () => {
    put(1, { title: 'art deco' });
    put(2, { title: 'art deco poster' });
    expect([find('"art deco"').sort(), find('pos')]).toEqual([[1, 2], [2]]);
    put(1, { title: 'art poster' });
    put(2, { title: 'post' });
    expect([find('"art deco"'), find('pos').sort(), find('deco ')]).toEqual([[], [1, 2], []]);
    expect(index.listings()).toBe(2);
    expect(index.terms()).toBe(3);
  });

  test('a beginning that was only its own word learns of others', () => {
    put(1, { title: 'market' });
    expect(find('market')).toEqual([1]);
    put(2, { title: 'marketplace' });
    expect(find('market').sort()).toEqual([1, 2]);
    index.remove(1);
    index.remove(1);
    expect(find('market')).toEqual([2]);
    index.remove(2);
    expect(find('market')).toEqual([]);
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

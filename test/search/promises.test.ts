import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { readListings } from './read-listings.ts';
import { createSearchShelf } from './search-shelf.ts';

const listings = readListings();
const find = createSearchShelf(listings);

const titlesOf = async (q: string): Promise<readonly string[]> => (await find(q)).titles;
const firstOf = async (q: string): Promise<string | undefined> => (await titlesOf(q))[0];

async function expectSame(...needs: readonly string[]): Promise<void> {
  const [first = '', ...others] = needs;
  const titles = [...(await titlesOf(first))].sort();
  expect(titles.length, first).toBeGreaterThan(0);
  for (const q of others) expect([...(await titlesOf(q))].sort(), q).toEqual(titles);
}

describe('names of programmers', () => {
  test('c, c++ and c# are three words', async () => {
    expect(await titlesOf('c++')).toEqual(['Unit tests for legacy C++']);
    expect(await titlesOf('C#')).toEqual(['C# async pitfalls']);
    expect(await titlesOf('c')).toEqual(['Memory leaks in C']);
    await expectSame('c++', 'cpp');
    await expectSame('c#', 'CSharp');
  });

  test('.net is not the net sum of an invoice', async () => {
    expect([...(await titlesOf('.net'))].sort()).toEqual(['C# async pitfalls', 'Migrate to .NET 10']);
    expect(await titlesOf('net')).toEqual(['Invoice parser']);
    await expectSame('.net', 'dotnet');
    expect(await firstOf('asp.net')).toBe('Migrate to .NET 10');
  });

  test('a language of two letters is a word of its own', async () => {
    expect(await titlesOf('Go')).toEqual(['Review checklist for Go']);
    expect(await firstOf('the Go language')).toBe('Review checklist for Go');
  });

  test('the spellings of a name are one', async () => {
    expect(await firstOf('node.js')).toBe('Node.js stream recipes');
    expect(await titlesOf('nodejs')).toEqual(['Node.js stream recipes']);
    await expectSame('kubernetes', 'k8s', 'K8S');
    await expectSame('ml', 'ML');
    expect(await titlesOf('large language model')).toEqual(expect.arrayContaining([...(await titlesOf('llm'))]));
    expect([...(await titlesOf('front end'))]).toEqual(expect.arrayContaining([...(await titlesOf('frontend'))]));
  });
});

describe('words of the world', () => {
  test('British and American spelling are one', async () => {
    await expectSame('colour', 'color', 'Colours');
    expect(await firstOf('colour palette')).toBe('Color palette from a photo');
  });

  test('accents may be left out, and umlauts may be two letters', async () => {
    await expectSame('müll', 'Muell', 'mull', 'MÜLL');
    await expectSame('größe', 'groesse', 'grosse');
    await expectSame('légumes', 'legumes');
    const english = {
      ...listings[0],
      title: 'Muell and Strasse',
      tags: [],
      keywords: [],
      description: '',
      preview: '',
    };
    const typed = createSearchShelf([{ merchant: 'keeper', ...english }]);
    for (const q of ['Müll', 'Muell', 'Straße']) expect((await typed(q)).total, q).toBe(1);
  });

  test('a part of a text without spaces finds it', async () => {
    expect(await titlesOf('한국')).toEqual(['한국어 맞춤법 검사기']);
    expect(await titlesOf('맞춤법')).toEqual(['한국어 맞춤법 검사기']);
    expect(await firstOf('敬語')).toBe('日本語の敬語チェッカー');
    expect(await firstOf('合同审查')).toBe('中文合同审查');
  });
});

describe('titles', () => {
  test('an exact title comes first, in any order of its words', async () => {
    for (const { title } of listings) expect(await firstOf(title)).toBe(title);
    expect(await firstOf('parser invoice')).toBe('Invoice parser');
    expect(await firstOf('Lite parser, invoice')).toBe('Invoice parser lite');
  });

  test('a title with one wrong word comes first, and the answer names the word', async () => {
    const long = listings.flatMap(({ title }) => {
      const [word = ''] = title.match(/\b[a-z]{7,}\b/) ?? [];
      return word === '' ? [] : [{ title, word }];
    });
    const some = long.filter((_, index) => index % 2 === 0).slice(0, 30);
    expect(some).toHaveLength(30);
    for (const { title, word } of some) {
      const [missing, swapped] = [`${word.slice(0, 3)}${word.slice(4)}`, swapLetters(word, 2)];
      for (const wrong of [missing, swapped]) {
        const { titles, search } = await find(title.replace(word, wrong));
        expect(titles[0], wrong).toBe(title);
        // Swapping two equal letters changes nothing.
        if (wrong !== word)
          expect(
            search.words.find((one) => one.word === wrong),
            wrong,
          ).toHaveProperty('used_as');
      }
    }
  });
});

function swapLetters(word: string, at: number): string {
  return `${word.slice(0, at)}${word[at + 1]}${word[at]}${word.slice(at + 2)}`;
}

describe('the report', () => {
  test('tells which words were ignored, corrected and missing, and whether a listing has all', async () => {
    const { search, total } = await find('please find kuberntes zeppelins');
    expect(search).toMatchObject({ ignored: ['please'], missing: ['zeppelins'], matched: 'some' });
    expect(search.words).toContainEqual({ word: 'kuberntes', listings: 1, used_as: 'kubernetes' });
    expect(total).toBeGreaterThan(0);
    expect((await find('kubernetes rollout')).search).toMatchObject({ ignored: [], missing: [], matched: 'all' });
  });

  test('docs/search.md shows a real one', async () => {
    const text = await readFile(new URL('../../docs/search.md', import.meta.url), 'utf8');
    const [, need = '', shown = ''] = /answer to `([^`]+)`.*\n\n```json\n([^`]+)```/.exec(text) ?? [];
    const { total, search } = await find(need);
    expect(JSON.parse(shown)).toEqual({ total, search });
  });

  test('a need of unknown words finds nothing, and says so', async () => {
    const { total, search } = await find('zeppelins xylophonists');
    expect({ total, words: search.words, matched: search.matched }).toEqual({ total: 0, words: [], matched: 'some' });
    expect(search.missing.toSorted()).toEqual(['xylophonists', 'zeppelins']);
  });

  test('with match=all, every word must be there as spelled', async () => {
    expect((await find('kubernetes rollout please', { match: 'all' })).total).toBe(0);
    expect((await find('kuberntes', { match: 'all' })).total).toBe(0);
    expect((await find('kubernetes rollout', { match: 'all' })).titles).toEqual(['Kubernetes rollout debugger']);
  });
});

test('a walk keeps the words that its first page found, in every script', async () => {
  for (const q of ['ошибкаа python', 'invoice parsers finanse pdf']) {
    const whole = await find(q);
    const walked: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await find(q, { limit: '1', cursor: cursor ?? undefined });
      walked.push(...page.titles);
      expect(page.search).toEqual(whole.search);
      cursor = page.cursor;
    }
    expect(walked).toEqual(whole.titles);
  }
});

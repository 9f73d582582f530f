import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createBm25, stemsOf } from '../../bench/search/bm25.ts';
import { readSkill } from '../../bench/search/front-matter.ts';
import { anyWordOf } from '../../bench/search/full-text.ts';
import { makeHandles } from '../../bench/search/merchant-handles.ts';
import { cutAtWord, makePublicText } from '../../bench/search/public-text.ts';
import { makeItem, readCorpus } from '../../bench/search/read-corpus.ts';
import { readNeeds } from '../../bench/search/read-needs.ts';
import { findPlaces, scoreNeeds, scoreTitles } from '../../bench/search/scores.ts';
import { drawTitleQueries } from '../../bench/search/title-queries.ts';
import { HANDLE_PATTERN } from '../../src/contract/answer-forms.ts';

const frontOf = (...lines: string[]) => readSkill(['---', ...lines, '---', 'Body'].join('\n')).front;

describe('the front matter of a skill', () => {
  it.each([
    ['plain', ['description: Finds bugs # quickly'], 'Finds bugs'],
    ['plain with a colon', ['description: Use when: asked'], 'Use when: asked'],
    ['plain on several lines', ['description: one', '  two', '', '  three'], 'one two three'],
    ['with a sign inside a word', ['description: C# and F#'], 'C# and F#'],
    ['in double quotes', ['description: "a \\"b\\" \\u00e9: c"'], 'a "b" \u00e9: c'],
    ['in single quotes', ["description: 'it''s: fine' # yes"], "it's: fine"],
    ['on the next line', ['description:', '  "a', '  b"'], 'a b'],
    ['a block', ['description: |', '  one', '    two', '', '  three'], 'one\n  two\n\nthree'],
    ['a folded block', ['description: >-', '  one', '  two', '', '  three'], 'one two\nthree'],
    ['null', ['description: null'], ''],
    ['missing', ['metadata:', '  description: inner'], ''],
  ])('has a description that is %s', (_, lines, expected) => {
    expect(frontOf(...lines, 'other.key: x').description).toBe(expected);
  });

  it.each([
    ['in brackets', ['tags: [one, "two", \'three\']']],
    ['one a line', ['tags:', '  - one', '  - "two"', '- three']],
    ['between commas', ['tags: one, two, three']],
  ])('has tags %s', (_, lines) => {
    expect(frontOf(...lines).tags).toEqual(['one', 'two', 'three']);
  });

  it('may be missing, empty, or written on another system', () => {
    const none = { name: '', description: '', tags: [] };
    expect(readSkill('# Title\n\nText')).toEqual({ front: none, body: '# Title\n\nText' });
    expect(readSkill('---\n---\nText')).toEqual({ front: none, body: 'Text' });
    const { front, body } = readSkill('\ufeff---\r\nname: a b\r\n---\r\nText\r\n');
    expect([front.name, body]).toEqual(['a b', 'Text']);
  });
});

describe('an item of the corpus', () => {
  const itemOf = (source: string) => makeItem({ id: 'Some/one:x', owner: 'Some', fallback: 'folder' }, source);

  it('is a listing that the market would accept', () => {
    const source = `---\nname: Zero\u200bwidth ${'x'.repeat(200)}\ntags: [a, B]\n---\n\u0000${'y'.repeat(3_000)}`;
    expect(itemOf(source)).toEqual({
      ...{ id: 'Some/one:x', owner: 'Some', tags: [] },
      title: `Zerowidth ${'x'.repeat(110)}`,
      description: `Zerowidth ${'x'.repeat(110)}`,
      preview: 'y'.repeat(1_999),
    });
  });

  it('has the first title that is long enough', () => {
    expect(itemOf('---\nname: jq\n---\ntext\n---\n## Reads JSON\n# More')).toMatchObject({ title: 'Reads JSON' });
    expect(itemOf('no heading')).toMatchObject({ title: 'folder', description: 'folder' });
    expect(makeItem({ id: 'a/b:jq', owner: 'a', fallback: 'jq' }, '# jq')).toBe('has no title of 3 characters');
  });

  it('is cut by characters, and lines become spaces in a title', () => {
    expect(makePublicText('\u{1f600}'.repeat(5), { min: 1, max: 3 })).toBe('\u{1f600}'.repeat(3));
    expect(makePublicText('a\r\nb\u2028c', { min: 1, max: 9 })).toBe('a b c');
    expect(makePublicText('\u200b', { min: 1, max: 9 })).toBeNull();
  });

  it('comes from a folder tree, and needs name it by its path', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'corpus-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    for (const path of ['Ann/tools/a/lamp', 'Ann/tools', 'Ann']) {
      await mkdir(join(folder, path), { recursive: true });
      await writeFile(join(folder, path, 'SKILL.md'), `# Skill in ${path}`);
    }
    const { items, refused } = await readCorpus(folder);
    expect(items.map(({ id }) => id)).toEqual(['Ann/tools:', 'Ann/tools:a/lamp']);
    expect(refused).toEqual([{ id: 'Ann', why: 'stands outside of OWNER/REPO' }]);
    const file = join(folder, 'needs.json');
    const write = (...needs: object[]) => writeFile(file, JSON.stringify({ needs }));
    await write({ q: 'light', right: ['Ann/tools:a/lamp', 'Bob/x:y'] }, { q: 'x', right: ['Ann/tools:'], best: [] });
    const { needs, unknown } = await readNeeds(file, items);
    expect(needs.map(({ right }) => [...right])).toEqual([[2], [1]]);
    expect(unknown).toEqual(['Bob/x:y']);
    await write({ q: 'light', right: ['Bob/x:y'] });
    await expect(readNeeds(file, items)).rejects.toThrow('1 needs have no right item in the corpus, the first: light');
  });

  it('has a merchant whose handle is valid and looks like no other', () => {
    const handles = makeHandles([
      'Merit-Systems',
      'merit_systems',
      'x',
      '\u00c9cole--42-',
      'y'.repeat(40),
      'Y'.repeat(40),
    ]);
    expect([...handles.values()]).toEqual([
      ...['merit-systems', 'merit-systems-2', 'x-skills', 'ecole-42', 'y'.repeat(32), `${'y'.repeat(30)}-2`],
    ]);
    for (const handle of handles.values()) expect(handle).toMatch(new RegExp(HANDLE_PATTERN));
  });
});

describe('the engines beside the market', () => {
  it('BM25 ranks by rare words, their number and the length of the text', () => {
    const search = createBm25([
      'red lamp',
      'red lamp and a very long description of furniture',
      'lamps',
      'green table',
    ]);
    expect(search('a lamp', 10)).toEqual([2, 0, 1]);
    expect(search('Which lamps are red?', 10)).toEqual([0, 1, 2]);
    expect(search('table lamps', 2)).toEqual([3, 2]);
    expect(search('the chair', 10)).toEqual([]);
  });

  it('read stems, no stop words, and pairs of Chinese characters', () => {
    expect(stemsOf('The running of 3 Tests, please')).toEqual(['run', '3', 'test']);
    expect(stemsOf('\u4e8c\u624b\u623fABC')).toEqual(['\u4e8c\u624b', '\u624b\u623f', 'abc']);
  });

  it('ask PostgreSQL for any word', () => {
    expect(anyWordOf('"red" -lamp OR (table)')).toBe('red or lamp or table');
  });
});

describe('the scores', () => {
  it('count needs by the place of the right item', () => {
    const right = new Set([7]);
    const found = [
      findPlaces([7, 1], right, right),
      findPlaces([1, 2, 3, 7], right, new Set()),
      findPlaces([1, 2], right, right),
      findPlaces([], right, new Set()),
    ];
    expect(found.map((one) => one.right)).toEqual([1, 4, null, null]);
    expect(scoreNeeds(found, 2)).toEqual({ recall_10: 0.5, recall_3: 0.25, mrr_10: 0.3125, best_10: 0.5, none: 0.25 });
    expect(scoreNeeds(found, 0).best_10).toBeNull();
    expect(scoreTitles(found)).toEqual({ first: 1, in_ten: 2, none: 1 });
  });

  it('cut a long need before the word that does not fit', () => {
    expect(cutAtWord('red lamp', 8)).toBe('red lamp');
    expect(cutAtWord('red lamps', 8)).toBe('red');
    expect(cutAtWord('red lamp x', 8)).toBe('red lamp');
    expect(cutAtWord('lampshades', 8)).toBe('lampshad');
  });

  it('draw titles, and spoil one long word of each', () => {
    const titles = [
      'brass lamp holder',
      'aaaa bbbb',
      'one long-title',
      'short one',
      'brass lamp holder',
      'x'.repeat(101),
    ];
    const drawn = drawTitleQueries(titles, { count: 9, seed: 1, limit: 100 });
    expect(drawn.map(({ title }) => title).sort()).toEqual(['brass lamp holder', 'one long-title']);
    for (const { title, queries } of drawn) {
      const { exact, 'letter missing': missing, 'letters swapped': swapped } = queries;
      expect(exact).toBe(title);
      expect(missing).toHaveLength(title.length - 1);
      expect(swapped).not.toBe(title);
      expect([...swapped].sort()).toEqual([...title].sort());
      const initials = (text: string) => text.split(/[ -]/).map((word) => word[0]);
      for (const spoiled of [missing, swapped]) expect(initials(spoiled)).toEqual(initials(title));
    }
    expect(drawTitleQueries(titles, { count: 9, seed: 1, limit: 100 })).toEqual(drawn);
  });
});

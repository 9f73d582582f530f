import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { listing, need, textChange } from '../../../../test/catalog/random-texts.ts';
import { MAX_WORDS, parseQuery } from './parse-query.ts';
import { type Resolution, requireAll } from './resolve-query.ts';
import { createTextIndex, type ListingText, type TextIndex } from './text-index.ts';

const nothing: ListingText = { title: '', tags: [], keywords: [], merchant: '', description: '', preview: '' };

let index: TextIndex;

function put(id: number, text: Partial<ListingText>): void {
  index.put(id, { ...nothing, ...text });
}

function resolve(q: string, choices: string | null = null): Resolution {
  return index.resolve(parseQuery(q), choices);
}

const SIGNS = { wanted: '', required: '+' };

/** Returns what is searched, in typed order. */
function searched(q: string): string[] {
  return resolve(q).terms.map(({ kind, words, need: sign }) => {
    if (kind === 'phrase') return `"${words.join(' ')}"`;
    return `${SIGNS[sign]}${words.join(' ')}${kind === 'beginning' ? '*' : ''}`;
  });
}

beforeEach(() => {
  index = createTextIndex({ giveWay: async () => {} });
});

describe('stop words', () => {
  beforeEach(() => put(1, { title: 'the art of doing what I need with marketing' }));

  test('are ignored', () => {
    expect(searched('I need the art of marketing')).toEqual(['art', 'marketing']);
    expect(resolve('I need the Art, of the marketing').ignored).toEqual(['i', 'need', 'the', 'of']);
  });

  test('are searched if nothing else is left, or if they are required or quoted', () => {
    expect(searched('what I need')).toEqual(['what', 'i', 'need']);
    expect(resolve('what I need').ignored).toEqual([]);
    expect(searched('what I need -art')).toEqual(['what', 'i', 'need']);
    expect(searched('+the marketing')).toEqual(['+the', 'marketing']);
    expect(searched('"of" with marketing')).toEqual(['"of"', 'marketing']);
  });

  test('may be a name together', () => {
    put(2, { title: 'todo' });
    expect(searched('to do')).toContain('todo');
    expect(searched('a to do art')).toEqual(['art', 'todo']);
    index.remove(2);
    expect(resolve('a to do art').missing).toEqual([]);
  });
});

describe('a word', () => {
  test('is searched as typed if a listing has a form of it', () => {
    put(1, { title: 'design designer' });
    expect(searched('designing')).toEqual(['designing']);
    expect(resolve('designing')).toMatchObject({ choices: '', missing: [], ignored: [] });
  });

  test('is a beginning only at the open end, and only if no listing has it', () => {
    put(1, { title: 'marketplace market universe' });
    expect(searched('mark')).toEqual(['mark*']);
    expect(searched('market')).toEqual(['market']);
    expect(searched('unive art')).toEqual([]);
    expect(searched('univer ')).toEqual([]);
    expect(searched('+mark')).toEqual(['+mark*']);
  });

  test('of one character of a script without spaces begins pairs', () => {
    put(1, { title: '한국어 人工' });
    expect(searched('한')).toEqual(['한*']);
    expect(searched('人 ')).toEqual(['人*']);
    expect(resolve('国 ').missing).toEqual(['国']);
    expect(searched('한국')).toEqual(['한국']);
    expect(searched('人工知能')).toEqual(['人工']);
    expect(resolve('人工知能').missing).toEqual([]);
    expect(resolve('知能本').missing).toEqual(['知能本']);
  });

  test('is spelled as the nearest word, and the answer says so', () => {
    put(1, { title: 'explain finality documents image editor' });
    const { terms, missing } = resolve('explian finalty +docmuenst imageeditor please zzzz');
    expect(terms.map(({ typed, usedAs, need: sign }) => `${typed}=${usedAs} ${sign}`)).toEqual([
      ...['explian=explain wanted', 'finalty=finality wanted', 'docmuenst=documents required'],
      ...['imageeditor=image editor wanted', 'imageeditor=image editor wanted'],
    ]);
    expect(missing).toEqual(['zzzz']);
  });

  test('is joined with its neighbor if listings have both as one', () => {
    put(1, { title: 'bedtime stories web3' });
    expect(searched('bed time ')).toEqual(['bedtime', 'bedtime']);
    expect(searched('web 3 ')).toEqual(['web3', 'web3']);
    expect(searched('time bed ')).toEqual([]);
  });

  test('is missing if none is near, it is short, or it has a digit', () => {
    put(1, { title: 'cat gpt4 version2024 documents' });
    for (const q of ['cas', 'gpt5', 'version2025', 'documentary', 'quokka']) {
      expect(resolve(`${q} `), q).toMatchObject({ terms: [], missing: [q] });
    }
  });

  test('that is required and missing matches nothing', () => {
    put(1, { title: 'art' });
    for (const q of ['+quokka art', 'art +quokka ', '+quokka +art']) {
      const search = index.compile(resolve(q));
      expect(search, q).toMatchObject({ matchesNothing: true, resolution: { missing: ['quokka'] } });
    }
  });

  test('of equally near ones is spelled as the title has it, or as those beside it', () => {
    for (let id = 1; id < 9; id += 1) put(id, { title: 'resign letter' });
    put(10, { title: 'logo design' });
    put(11, { title: 'big boat cat', description: 'red' });
    expect(searched('desogn ')).toEqual(['design']);
    expect(searched('xesign ')).toEqual(['resign']);
    expect(searched('logo xesign ')).toEqual(['logo', 'design']);
    expect(searched('boat big caz ')).toEqual(['boat', 'big', 'cat']);
    expect(searched('boat caz ')).toEqual(['boat']);
  });

  test('is one of at most four that are corrected', () => {
    put(1, { title: 'alpha bravo charlie foxtrot juliett november' });
    const { missing, terms } = resolve('alpah brvao chralie foxtort juleitt novmeber ');
    expect([terms.length, missing.length]).toEqual([4, 2]);
  });

  test('is one of at most 32, whatever its variants and scripts', () => {
    const many = Array.from({ length: 66 }, (_, at) => `ä${at}`);
    put(1, {
      title: many.join(' '),
      description: '人工知能は世界を変える技術であり今後も発展していくだろうと思われる'.repeat(2),
    });
    const long = resolve(many.join(' ').slice(0, 200));
    expect(long.terms).toHaveLength(MAX_WORDS);
    expect(long.ignored.length).toBeGreaterThan(10);
    expect(index.compile(long)?.wanted).toHaveLength(MAX_WORDS);
    const run = resolve('人工知能は世界を変える技術であり今後も発展していくだろうと思われる');
    expect(run.terms).toHaveLength(MAX_WORDS);
    const required = resolve(`${many.map((word) => `+${word}`).join(' ')} `);
    expect(required.terms).toHaveLength(MAX_WORDS);
  });
});

describe('all words', () => {
  test('are required as they stand', () => {
    const { terms, choices, missing, ignored } = requireAll(parseQuery('the dsign -free "a b" +c 人工知'));
    expect(terms.map(({ kind, words }) => `${kind} ${words.join(' ')}`)).toEqual([
      ...['word the', 'word dsign', 'phrase a b', 'word c', 'phrase 人工 工知'],
    ]);
    expect(terms.every((term) => term.need === 'required' && term.usedAs === null)).toBe(true);
    expect([choices, missing, ignored]).toEqual(['', [], []]);
  });
});

describe('choices', () => {
  test('give the same terms although other words are there now', () => {
    put(1, { title: 'design image editor marketplace' });
    const before = resolve('desgin imageeditor quokka market');
    put(2, { title: 'desgin imageeditor quokka market' });
    index.remove(1);
    const later = resolve('desgin imageeditor quokka market', before.choices);
    expect(later).toEqual(before);
    expect(resolve('desgin imageeditor quokka market')).not.toEqual(before);
  });

  test('fit the same words in any order', () => {
    put(1, { title: 'design image editor marketplace' });
    const before = resolve('desgin the imageeditor quokka image ');
    const names = (one: Resolution): string[] => one.terms.map((term) => JSON.stringify(term)).sort();
    const later = resolve('image quokka imageeditor the desgin ', before.choices);
    expect(names(later)).toEqual(names(before));
    expect(later.choices).toBe(before.choices);
  });

  test('hold for any need and any changes', () => {
    const changes = fc.array(textChange, { maxLength: 30 });
    fc.assert(
      fc.property(changes, changes, fc.array(need, { minLength: 1, maxLength: 6 }), (first, second, needs) => {
        const changing = createTextIndex({ giveWay: async () => {} });
        const apply = (id: number, text: ListingText | null): void =>
          text === null ? changing.remove(id) : changing.put(id, text);
        for (const { id, text } of first) apply(id, text);
        const before = needs.map((q) => changing.resolve(parseQuery(q), null));
        for (const { id, text } of second) apply(id, text);
        for (const resolution of before) {
          expect(changing.resolve(resolution.query, resolution.choices)).toEqual(resolution);
          // Without any listing it can be compiled as well.
          expect(changing.compile(resolution)).not.toBeNull();
        }
      }),
      { numRuns: 150 },
    );
  });

  test('are empty where all is as typed', () => {
    for (const [at, text] of fc.sample(listing, { numRuns: 50, seed: 4 }).entries()) index.put(at + 1, text);
    put(99, { title: 'art logo' });
    expect(resolve('art +logo "art logo" the').choices).toBe('');
    expect(resolve('art logo', '').terms).toEqual(resolve('art logo').terms);
  });
});

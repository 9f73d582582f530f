import { describe, expect, test } from 'vitest';
import { NAMES, ONE_WORD, SAME_WORDS } from './abbreviations.ts';
import { createNameFinder, endNames, mayBeNameWord, readNameWord } from './name-finder.ts';
import { parseQuery } from './parse-query.ts';
import { stemOf } from './stem.ts';
import { isStopWord } from './stop-words.ts';
import { tokenize } from './tokenize.ts';

/** Returns the short forms of names in a text, in the order in which the names end. */
function namesIn(text: string): string[] {
  const finder = createNameFinder();
  return tokenize(text).flatMap((word) => {
    // A word that begins no name ends none either, so it may be left out.
    if (mayBeNameWord(finder, word.charCodeAt(0), word.length))
      return readNameWord(finder, word).map(({ short }) => short);
    expect(readNameWord(createNameFinder(), word)).toEqual([]);
    return [];
  });
}

function duplicatesIn(words: readonly string[]): string[] {
  return words.filter((word, at) => words.indexOf(word) !== at);
}

describe('the table of short forms of one word', () => {
  test('has each word once, as a text has it', () => {
    const all = ONE_WORD.flat();
    expect(duplicatesIn(all)).toEqual([]);
    for (const word of all) expect(tokenize(word), word).toEqual([word]);
    expect(SAME_WORDS.size).toBe(ONE_WORD.reduce((sum, [, ...short]) => sum + short.length, 0));
  });

  test.each(ONE_WORD.map((entry) => entry.join(' ')))('%s: one stem, none of them a stop word', (entry) => {
    const [word = '', ...short] = entry.split(' ');
    expect(short.length).toBeGreaterThan(0);
    for (const one of short) expect(stemOf(one), one).toBe(stemOf(word));
    expect(entry.split(' ').filter(isStopWord)).toEqual([]);
  });

  test('joins no two entries, unless one is the plural or the thing of the other', () => {
    const byStem = new Map<string, string[]>();
    for (const [word] of ONE_WORD) byStem.set(stemOf(word), [...(byStem.get(stemOf(word)) ?? []), word]);
    const joined = [...byStem.values()].filter((words) => words.length > 1).map((words) => words.join(' '));
    const related = joined.filter((words) => {
      const [first = '', second = ''] = words.split(' ');
      return second.startsWith(first.replace(/y$/, '').slice(0, 8)) || first.startsWith(second.slice(0, 8));
    });
    expect(joined).toEqual(related);
  });
});

describe('the table of names', () => {
  test('has each name once, as a text has it, and no name of one word', () => {
    expect(duplicatesIn(NAMES.flatMap(([, ...wholes]) => wholes))).toEqual([]);
    expect(duplicatesIn(NAMES.map(([short]) => short))).toEqual([]);
    for (const [short, ...wholes] of NAMES) {
      expect(tokenize(short), short).toEqual([short]);
      expect(wholes.length, short).toBeGreaterThan(0);
      for (const whole of wholes) {
        expect(tokenize(whole).join(' '), whole).toBe(whole);
        expect(whole.split(' ').length, whole).toBeGreaterThan(1);
      }
    }
  });

  test.each(NAMES.map((entry) => entry.join(', ')))('%s', (entry) => {
    const [short = '', ...wholes] = entry.split(', ');
    for (const whole of wholes) {
      for (const text of [
        whole,
        whole.replaceAll(' ', '-'),
        whole.toUpperCase(),
        `the ${whole}, and`,
        `front ${whole}`,
      ]) {
        expect(namesIn(text), text).toContain(short);
        const variant = parseQuery(text).variants.find(({ word }) => word === short);
        expect(variant?.words, text).toEqual(whole.split(' '));
      }
      // A name that lacks a word, or has another one within, is none.
      const words = whole.split(' ');
      expect(namesIn(words.slice(1).join(' '))).not.toContain(short);
      expect(namesIn([words[0], 'xyz', ...words.slice(1)].join(' '))).not.toContain(short);
    }
    // The short form is one word and stands for itself.
    expect(namesIn(short)).toEqual([]);
  });
});

describe('names in a text', () => {
  test('may overlap, and may be part of a longer one', () => {
    expect(namesIn('command line interface')).toEqual(['cli', 'cli']);
    expect(namesIn('front front end')).toEqual(['frontend']);
    expect(namesIn('text to speech to text')).toEqual(['tts', 'stt']);
    expect(namesIn('log in to do e mail')).toEqual(['login', 'todo', 'email']);
    expect(namesIn('large language large language models')).toEqual(['llm']);
  });

  test('end with the text', () => {
    const finder = createNameFinder();
    readNameWord(finder, 'front');
    endNames(finder);
    expect(readNameWord(finder, 'end')).toEqual([]);
  });
});

import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { NAMES, SAME_WORDS } from './abbreviations.ts';
import { stemOf } from './stem.ts';
import { tokenize } from './tokenize.ts';
import { withAbbreviations } from './write-abbreviations.ts';

test('docs/search.md has the tables of abbreviations as they are; otherwise: npm run docs', async () => {
  const text = await readFile(new URL('../../../../docs/search.md', import.meta.url), 'utf8');
  expect(withAbbreviations(text)).toBe(text);
});

test('the short and the whole form of a word have one stem, and no short form stands for two words', () => {
  for (const [short, whole] of SAME_WORDS) {
    expect(stemOf(short), short).toBe(stemOf(whole));
    expect(SAME_WORDS.has(whole), whole).toBe(false);
  }
});

test('each form is what the search reads, and no form stands for two names', () => {
  const shorts = NAMES.map(([short]) => short);
  const wholes = NAMES.flatMap(([, ...forms]) => forms);
  expect(new Set(shorts).size).toBe(shorts.length);
  expect(new Set(wholes).size).toBe(wholes.length);
  for (const form of [...SAME_WORDS.keys(), ...SAME_WORDS.values(), ...shorts])
    expect(tokenize(form), form).toEqual([form]);
  for (const form of wholes) expect(tokenize(form).join(' '), form).toBe(form);
});

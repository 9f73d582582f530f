import { expect, test } from 'vitest';
import { stemOf } from './stem.ts';

test('forms of an English word have one stem', () => {
  for (const forms of [
    ['design', 'designs', 'designed', 'designing'],
    ['story', 'stories'],
    ['translate', 'translation', 'translating'],
  ]) {
    expect(new Set(forms.map(stemOf)).size, forms.join(' ')).toBe(1);
  }
});

test('words with digits or of other scripts stay as they are', () => {
  for (const word of ['gpt4s', 'x402', 'as', 'города', 'étés', '人']) expect(stemOf(word)).toBe(word);
});

test('no word of the longest kind takes long', () => {
  for (const piece of ['a', 'y', 'b', 'ing', 'ational', 'eed', 'ay', 'sss', 'll', 'ion']) {
    const word = piece.repeat(64).slice(0, 64);
    for (let round = 0; round < 200; round += 1) stemOf(word);
  }
}, 2_000);

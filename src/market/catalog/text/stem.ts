import { stemmer } from 'stemmer';

const ENGLISH = /^[a-z]{3,}$/;

/** What the forms of an English word have in common. Words with digits or other letters stand for themselves. */
export function stemOf(word: string): string {
  return ENGLISH.test(word) ? stemmer(word) : word;
}

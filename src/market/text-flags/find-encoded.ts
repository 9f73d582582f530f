/** Long enough to say something, and longer than a hash. */
const HEX = /[0-9a-f]{65,}/i;
const BASE64 = /[A-Za-z0-9+/_-]{120,}/g;
const ESCAPES: readonly RegExp[] = [
  /(?:%[0-9a-f]{2}){10,}/i,
  /(?:\\u\{?[0-9a-f]{4,6}\}?){4,}/i,
  /(?:\\x[0-9a-f]{2}[ ,]?){8,}/i,
  /(?:&#x?[0-9a-f]{2,6};){6,}/i,
  /(?:\b[01]{8} ){6,}/,
  /(?:\b[0-9a-f]{2}[ :]){24,}/i,
];
const DIFFERENT_LETTERS = 20;

/** Carries something that is not to be read as it stands. */
export function hasEncoded(text: string): boolean {
  // Lines of such a block are one run.
  const joined = text.replace(/\r?\n/g, '');
  return (
    HEX.test(joined) ||
    ESCAPES.some((pattern) => pattern.test(text)) ||
    [...joined.matchAll(BASE64)].some(([run]) => isBase64(run))
  );
}

/** Not a ruler, not a word with a letter held down, not a path of small words. */
function isBase64(run: string): boolean {
  return /[a-z]/.test(run) && /[A-Z]/.test(run) && /[0-9]/.test(run) && new Set(run).size >= DIFFERENT_LETTERS;
}

import { cutPiles } from '../../../contract/text.ts';

/** Words in a row that are compared as one. */
export const SHINGLE_WORDS = 5;

/** The hash of each run of five words in a text, once each. A shorter text is one run; empty where nothing is to be seen. */
export function shinglesOf(text: string): Uint32Array {
  const words = hashWords(splitWords(text));
  if (words.length === 0) return new Uint32Array();
  const length = Math.min(words.length, SHINGLE_WORDS);
  const shingles = new Uint32Array(words.length - length + 1);
  for (let at = 0; at < shingles.length; at += 1) shingles[at] = mix(roll(words, at, at + length));
  return distinct(shingles);
}

function distinct(hashes: Uint32Array): Uint32Array {
  hashes.sort();
  let kept = 0;
  for (let at = 0; at < hashes.length; at += 1) {
    if (at > 0 && hashes[at] === hashes[at - 1]) continue;
    hashes[kept] = hashes[at] ?? 0;
    kept += 1;
  }
  return hashes.subarray(0, kept);
}

function hashWords(words: readonly string[]): Uint32Array {
  const hashes = new Uint32Array(words.length);
  for (let at = 0; at < hashes.length; at += 1) hashes[at] = hashWord(words[at] ?? '');
  return hashes;
}

/** FNV-1a over the code units, and mixed. */
function hashWord(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at += 1) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  return mix(hash);
}

function roll(words: Uint32Array, from: number, to: number): number {
  let hash = to - from;
  for (let at = from; at < to; at += 1) hash = (Math.imul(hash, 0x9e3779b1) + (words[at] ?? 0)) | 0;
  return hash;
}

/** Each bit of the answer hangs on each bit of the question (the last step of MurmurHash3). One to one. */
export function mix(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/**
 * More is not looked at. Only a ceiling above the usual one, or text that grows when it is folded, has more; it keeps the work on one
 * artifact small.
 */
const MOST_WORDS = 131_072;
const MOST_CHARACTERS = 262_144;

/** Where less than this share of a text is words, as in drawings of characters, all that stands between spaces is a word. */
const LEAST_WORD_SHARE = 0.1;

/** Folded piece by piece, so that text which grows is not folded beyond what counts. */
const PIECE_LENGTH = 8_192;

/** What cannot be seen, as marks without width are, makes no other words. */
const UNSEEN = /\p{Default_Ignorable_Code_Point}+/gu;
/** Scripts without spaces between words: each character is a word of its own. */
const WORDS =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]|[[\p{L}\p{M}\p{N}_]--[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]]+/gv;
const ASCII_WORDS = /[a-z0-9_]+/g;
const LOW_SURROGATE = /[\udc00-\udfff]/;
const NOT_SPACE = /\S+/gu;
const SPACES = /\s+/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
const ASCII = /^[\x00-\x7f]*$/;

/** Folded as titles are. Punctuation divides words and is nothing else, so that a text reads alike however it is set. */
export function splitWords(text: string): string[] {
  const pieces: string[] = [];
  const words: string[] = [];
  let length = 0;
  for (let from = 0; from < text.length && words.length < MOST_WORDS && length < MOST_CHARACTERS; ) {
    const to = endOfPiece(text, from);
    const piece = fold(text.slice(from, to));
    pieces.push(piece);
    length += piece.length;
    for (const word of piece.match(ASCII.test(piece) ? ASCII_WORDS : WORDS) ?? []) words.push(word);
    from = to;
  }
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  const found = letters >= length * LEAST_WORD_SHARE ? words : pieces.flatMap((piece) => piece.match(NOT_SPACE) ?? []);
  return found.slice(0, MOST_WORDS);
}

/** Before a space if there is one: folding changes nothing across it. */
function endOfPiece(text: string, from: number): number {
  const to = from + PIECE_LENGTH;
  if (to >= text.length) return text.length;
  const space = Math.max(text.lastIndexOf(' ', to), text.lastIndexOf('\n', to));
  if (space > from) return space;
  return LOW_SURROGATE.test(text.charAt(to)) ? to - 1 : to;
}

/** Normalized once more at the end: some letters only come out whole when they are lower case. */
function fold(text: string): string {
  const plain = text.replace(SPACES, ' ');
  if (ASCII.test(plain)) return plain.toLowerCase();
  return cutPiles(plain.replace(UNSEEN, '')).normalize('NFKC').toLowerCase().normalize('NFKC');
}

import { limitCombiningMarks } from '../../../contract/text.ts';

export const SHINGLE_WORDS = 5;

/** Returns the distinct hashes of all five-word sequences, ascending. A shorter text is one sequence; without words there is none. */
export function shinglesOf(text: string): Uint32Array {
  const words = hashWords(splitWords(text));
  if (words.length === 0) return new Uint32Array();
  const length = Math.min(words.length, SHINGLE_WORDS);
  const shingles = new Uint32Array(words.length - length + 1);
  for (let at = 0; at < shingles.length; at += 1) shingles[at] = mixBits(hashRun(words, at, at + length));
  return sortDistinct(shingles);
}

function sortDistinct(hashes: Uint32Array): Uint32Array {
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

/** FNV-1a over the code units, then mixed. */
function hashWord(word: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < word.length; at += 1) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193);
  return mixBits(hash);
}

function hashRun(words: Uint32Array, from: number, to: number): number {
  let hash = to - from;
  for (let at = from; at < to; at += 1) hash = (Math.imul(hash, 0x9e3779b1) + (words[at] ?? 0)) | 0;
  return hash;
}

/** Mixes so that each output bit depends on each input bit (the last step of MurmurHash3). A bijection. */
export function mixBits(value: number): number {
  let mixed = value;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}

/** Limits the work on one artifact. Only artifacts above the usual size limit, or text that grows when folded, exceed it. */
const MAX_WORDS = 131_072;
const MAX_CHARACTERS = 262_144;

/** If words make up less than this share of a text, as in ASCII art, everything between spaces counts as a word. */
const MIN_WORD_SHARE = 0.1;

/** Text is folded in pieces, so that text that grows is not folded far beyond the limit. */
const PIECE_LENGTH = 8_192;

/** Invisible characters, such as zero-width marks, do not change a word. */
const INVISIBLE = /\p{Default_Ignorable_Code_Point}+/gu;
/** In scripts without spaces, each character is a word. */
const WORDS =
  /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]|[[\p{L}\p{M}\p{N}_]--[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}]]+/gv;
const ASCII_WORDS = /[a-z0-9_]+/g;
const LOW_SURROGATE = /[\udc00-\udfff]/;
const NOT_SPACE = /\S+/gu;
const SPACES = /\s+/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the whole of ASCII is meant
const ASCII = /^[\x00-\x7f]*$/;

/** Folds text as titles are folded. Punctuation only separates words, so that typography makes no difference. */
export function splitWords(text: string): string[] {
  const pieces: string[] = [];
  const words: string[] = [];
  let length = 0;
  for (let from = 0; from < text.length && words.length < MAX_WORDS && length < MAX_CHARACTERS; ) {
    const to = endOfPiece(text, from);
    const piece = foldPiece(text.slice(from, to));
    pieces.push(piece);
    length += piece.length;
    for (const word of piece.match(ASCII.test(piece) ? ASCII_WORDS : WORDS) ?? []) words.push(word);
    from = to;
  }
  const letters = words.reduce((sum, word) => sum + word.length, 0);
  const result = letters >= length * MIN_WORD_SHARE ? words : pieces.flatMap((piece) => piece.match(NOT_SPACE) ?? []);
  return result.slice(0, MAX_WORDS);
}

/** Ends the piece before a space if possible, because folding changes nothing across a space. */
function endOfPiece(text: string, from: number): number {
  const to = from + PIECE_LENGTH;
  if (to >= text.length) return text.length;
  const space = Math.max(text.lastIndexOf(' ', to), text.lastIndexOf('\n', to));
  if (space > from) return space;
  return LOW_SURROGATE.test(text.charAt(to)) ? to - 1 : to;
}

/** Normalizes again at the end, because some letters compose only in lower case. */
function foldPiece(text: string): string {
  const plain = text.replace(SPACES, ' ');
  if (ASCII.test(plain)) return plain.toLowerCase();
  return limitCombiningMarks(plain.replace(INVISIBLE, '')).normalize('NFKC').toLowerCase().normalize('NFKC');
}

import { limitCombiningMarks } from '../../../contract/text.ts';

/** The UTF-16 codes of a text, in a reused array. */
interface CodeBuffer {
  codes: Uint16Array;
  bytes: Buffer;
}

/** Copying short texts in a loop is cheaper than a call into the runtime. */
const COPIED_BY_HAND = 24;

export function createCodeBuffer(): CodeBuffer {
  return createCodes(4_096);
}

export function writeCodes(buffer: CodeBuffer, text: string): Uint16Array {
  if (text.length >= buffer.codes.length) Object.assign(buffer, createCodes(text.length * 2));
  const { codes } = buffer;
  if (text.length > COPIED_BY_HAND) buffer.bytes.write(text, 'utf16le');
  else for (let at = 0; at < text.length; at += 1) codes[at] = text.charCodeAt(at);
  return codes;
}

function createCodes(length: number): CodeBuffer {
  const codes = new Uint16Array(length);
  return { codes, bytes: Buffer.from(codes.buffer) };
}

/** Marks that people leave out when they type, such as accents. In other scripts (Devanagari, kana) marks change the word and stay. */
const ACCENTS =
  /[[\p{M}&&[\p{Script=Inherited}\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}]]--[\u3099\u309a]]/gv;

/** Letters without a Unicode decomposition, as people type them. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ς: 'σ',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ı: 'i',
};

const SPECIAL_LETTERS = /[ßςæœøłđðþħı]/g;

/** Folds text outside ASCII for comparison: compatibility forms, case and accents. Folding twice changes nothing. */
export function foldText(text: string): string {
  const withoutAccents = limitCombiningMarks(text).normalize('NFKD').toLowerCase().replace(ACCENTS, '');
  // Compose again, so that remaining marks join their letter and a Korean syllable is one character.
  return withoutAccents.replace(SPECIAL_LETTERS, (letter) => LETTERS[letter] ?? letter).normalize('NFC');
}

/** Longer words are cut, because the rest carries no meaning and costs memory. */
const LONGEST_WORD = 64;

/** Scripts without spaces between words, and Hangul, whose words carry endings. Their runs are indexed as pairs of characters. */
const UNSPACED = ['Han', 'Hiragana', 'Katakana', 'Hangul', 'Thai', 'Lao', 'Khmer', 'Myanmar'];
const CHARACTERS = `${UNSPACED.map((script) => String.raw`\p{Script=${script}}`).join('')}\u30fc`;
const PAIR = new RegExp(`^[${CHARACTERS}]{1,2}$`, 'v');
const RUN = new RegExp(String.raw`[${CHARACTERS}]+|[[\p{L}\p{N}\p{M}]--[${CHARACTERS}]]+`, 'gv');
const FIRST_UNSPACED = 0x0e00;

const IS_WORD_CODE = new Uint8Array(128);
for (let code = 0x30; code <= 0x39; code += 1) IS_WORD_CODE[code] = 1;
for (let code = 0x61; code <= 0x7a; code += 1) IS_WORD_CODE[code] = 1;

/** Returns whether the word is a pair of characters, or the last character, of a run without spaces. */
export function isPair(word: string): boolean {
  return word.charCodeAt(0) >= FIRST_UNSPACED && PAIR.test(word);
}

/** Receives the words of a text one by one: the codes from `start` to `end`, valid during the call only. */
export type WordSink = (codes: Uint16Array, start: number, end: number) => void;

/** Receives other spellings of words in a text, which are to be found but are not part of its phrases. */
export type VariantSink = (word: string) => void;

const text16 = createCodeBuffer();
const word16 = createCodeBuffer();

/**
 * Passes the folded words of a text to the sink in order: runs of letters and digits, pairs of characters in scripts without spaces, and
 * a few names such as `c++`. Almost all text is ASCII, so the loop tests codes, and only other runs go through Unicode. ASCII separators
 * never combine with what precedes them, so a run can be folded alone.
 */
export function readWords(text: string, sink: WordSink, variantSink: VariantSink | null = null): void {
  const lower = text.toLowerCase();
  const { length } = lower;
  const codes = writeCodes(text16, lower);
  // Mark the end, because signs after the last word are tested beyond it.
  codes[length] = 0;
  let start = -1;
  // Non-zero if the run that began at `start` has characters outside ASCII.
  let isMixed = 0;
  for (let at = 0; at <= length; at += 1) {
    const code = codes[at] as number;
    if (at < length && (code >= 128 || IS_WORD_CODE[code] !== 0)) {
      if (start < 0) start = at;
      isMixed |= code & ~127;
      continue;
    }
    if (start < 0) continue;
    if (isMixed === 0) readAscii(codes, start, at, sink);
    else if (foldsToItself(codes, start, at)) readSegments(codes, start, at, sink);
    else readFolded(lower.slice(start, at), sink, variantSink);
    start = -1;
    isMixed = 0;
  }
}

const codeOf = (sign: string): number => sign.charCodeAt(0);
const DOT = codeOf('.');
const PLUS = codeOf('+');
const HASH = codeOf('#');
const NET = [...'net'].map(codeOf);
const PLUS_LETTERS = new Set([...'cg'].map(codeOf));
const SHARP_LETTERS = new Set([...'cfjq'].map(codeOf));

/** Passes on a run of ASCII letters and digits, with its signs if it is one of `c++`, `g++`, `c#`, `f#`, `j#`, `q#` and `.net`. */
function readAscii(codes: Uint16Array, start: number, end: number, sink: WordSink): void {
  if (end - start === 1) sink(codes, start, end + signsAfter(codes, start, end));
  else if (isDotNet(codes, start, end)) sink(codes, start - 1, end);
  else sink(codes, start, Math.min(end, start + LONGEST_WORD));
}

/** Returns how many signs after a single letter belong to its word. */
function signsAfter(codes: Uint16Array, start: number, end: number): number {
  const letter = codes[start] as number;
  const next = codes[end] as number;
  if (next === PLUS && codes[end + 1] === PLUS && PLUS_LETTERS.has(letter)) return 2;
  return next === HASH && SHARP_LETTERS.has(letter) ? 1 : 0;
}

function isDotNet(codes: Uint16Array, start: number, end: number): boolean {
  if (end - start !== NET.length || codes[start - 1] !== DOT || IS_WORD_CODE[codes[start - 2] as number] === 1)
    return false;
  return NET.every((code, at) => codes[start + at] === code);
}

/** Returns whether a run has only ASCII and common characters that fold to themselves whatever stands beside them. */
function foldsToItself(codes: Uint16Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const code = codes[at] as number;
    if (code >= 128 && !isPlain(code)) return false;
  }
  return true;
}

function isPlain(code: number): boolean {
  if (code >= 0x4e00) return code <= 0x9fff || (code >= 0xac00 && code <= 0xd7a3);
  return (code >= 0x3041 && code <= 0x3096) || (code >= 0x30a1 && code <= 0x30fa) || code === 0x30fc || code === 0x3005;
}

/** Passes on the words of a run that folds to itself: its ASCII parts whole, its other parts as pairs. */
function readSegments(codes: Uint16Array, start: number, end: number, sink: WordSink): void {
  for (let from = start; from < end; ) {
    const isAscii = (codes[from] as number) < 128;
    let to = from + 1;
    while (to < end && (codes[to] as number) < 128 === isAscii) to += 1;
    if (isAscii) readAscii(codes, from, to, sink);
    else for (let at = from; at < to; at += 1) sink(codes, at, Math.min(to, at + 2));
    from = to;
  }
}

export function tokenize(text: string): string[] {
  const words: string[] = [];
  readWords(text, (codes, start, end) => words.push(String.fromCharCode(...codes.subarray(start, end))));
  return words;
}

interface FoldedRun {
  readonly words: readonly string[];
  readonly variant: string | null;
}

/** Caches the folded forms of words outside ASCII, because folding costs twenty times a lookup. Cleared when full. */
const foldedRuns = new Map<string, FoldedRun>();
const MOST_FOLDED = 20_000;
const LONGEST_FOLDED = 32;

function readFolded(run: string, sink: WordSink, variantSink: VariantSink | null): void {
  let folded = foldedRuns.get(run);
  if (folded === undefined) {
    folded = foldRun(run);
    if (foldedRuns.size === MOST_FOLDED) foldedRuns.clear();
    // Store a copy, because a slice would keep the whole text in memory.
    if (run.length <= LONGEST_FOLDED) foldedRuns.set(copyOf(run), folded);
  }
  for (const word of folded.words) sink(writeCodes(word16, word), 0, word.length);
  if (folded.variant !== null) variantSink?.(folded.variant);
}

function foldRun(run: string): FoldedRun {
  const words = (foldText(run).match(RUN) ?? []).flatMap((word) =>
    isUnspaced(word) ? pairsOf(word) : [cutWord(word)],
  );
  return { words: words.map(copyOf), variant: twoLetterForm(run) };
}

function isUnspaced(word: string): boolean {
  return isPair(String.fromCodePoint(word.codePointAt(0) ?? 0));
}

function pairsOf(run: string): string[] {
  const characters = [...run];
  return characters.map((character, at) => character + (characters[at + 1] ?? ''));
}

/** Letters that folding makes one letter of, but that many people write as two. */
const TWO_LETTERS: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe', å: 'aa' };

/** Returns the word as people without these letters write it: `Müll` as `muell`. Null if it has none of them. */
function twoLetterForm(run: string): string | null {
  const composed = run.normalize('NFC');
  const spelled = composed.replace(/[äöüøå]/g, (letter) => TWO_LETTERS[letter] ?? letter);
  if (spelled === composed) return null;
  const words = foldText(spelled).match(RUN) ?? [];
  return words.length === 1 ? copyOf(cutWord(words[0] ?? '')) : null;
}

function copyOf(text: string): string {
  return Buffer.from(text, 'utf16le').toString('utf16le');
}

function cutWord(word: string): string {
  if (word.length <= LONGEST_WORD) return word;
  const head = word.slice(0, LONGEST_WORD);
  // Do not cut a character in half.
  return head.isWellFormed() ? head : head.slice(0, -1);
}

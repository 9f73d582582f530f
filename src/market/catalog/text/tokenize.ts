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
  if (text.length > buffer.codes.length) Object.assign(buffer, createCodes(text.length * 2));
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

const IDEOGRAPHS = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u30fc`;
/** These scripts have no spaces, so each character is a word, and neighbours in a query become a phrase. */
const IDEOGRAPH = new RegExp(`^[${IDEOGRAPHS}]$`, 'v');
const TOKEN = new RegExp(String.raw`[${IDEOGRAPHS}]|[[\p{L}\p{N}\p{M}]--[${IDEOGRAPHS}]]+`, 'gv');
const FIRST_IDEOGRAPH = 0x2e80;

const IS_WORD_CODE = new Uint8Array(128);
for (let code = 0x30; code <= 0x39; code += 1) IS_WORD_CODE[code] = 1;
for (let code = 0x61; code <= 0x7a; code += 1) IS_WORD_CODE[code] = 1;

export function isIdeograph(word: string): boolean {
  return word.charCodeAt(0) >= FIRST_IDEOGRAPH && IDEOGRAPH.test(word);
}

/** Receives the words of a text one by one: the codes from `start` to `end`, valid during the call only. */
export type WordSink = (codes: Uint16Array, start: number, end: number) => void;

const text16 = createCodeBuffer();
const word16 = createCodeBuffer();

/**
 * Passes the folded words of a text to the sink in order: runs of letters and digits. Almost all text is ASCII, so the loop tests codes,
 * and only runs with other characters go through Unicode. ASCII separators and ideographs never combine with what precedes them, so a run
 * can be folded alone.
 */
export function readWords(text: string, sink: WordSink): void {
  const lower = text.toLowerCase();
  const { length } = lower;
  const codes = writeCodes(text16, lower);
  let start = -1;
  // Non-zero if the run that began at `start` has characters outside ASCII.
  let isMixed = 0;
  for (let at = 0; at < length; at += 1) {
    const code = codes[at] as number;
    const isAlone = code >= FIRST_IDEOGRAPH && isWholeWord(code, at + 1 < length ? (codes[at + 1] as number) : 0);
    if (!isAlone && (code >= 128 || IS_WORD_CODE[code] !== 0)) {
      if (start < 0) start = at;
      isMixed |= code & ~127;
      continue;
    }
    if (start >= 0) emitRun(lower, start, at, isMixed, sink);
    if (isAlone) sink(codes, at, at + 1);
    start = -1;
    isMixed = 0;
  }
  if (start >= 0) emitRun(lower, start, length, isMixed, sink);
}

function emitRun(lower: string, start: number, end: number, isMixed: number, sink: WordSink): void {
  if (isMixed !== 0) emitFolded(lower.slice(start, end), sink);
  else sink(text16.codes, start, Math.min(end, start + LONGEST_WORD));
}

/** Returns whether an ideograph or kana folds to itself. False if the next character may be a mark or fold to one. */
function isWholeWord(code: number, next: number): boolean {
  return isPlain(code) && (next < 128 || isPlain(next));
}

function isPlain(code: number): boolean {
  if (code >= 0x4e00) return code <= 0x9fff;
  return (code >= 0x3041 && code <= 0x3096) || (code >= 0x30a1 && code <= 0x30fa);
}

export function tokenize(text: string): string[] {
  const words: string[] = [];
  readWords(text, (codes, start, end) => words.push(String.fromCharCode(...codes.subarray(start, end))));
  return words;
}

/** Caches the folded forms of words outside ASCII, because folding costs twenty times a lookup. Cleared when full. */
const folded = new Map<string, readonly string[]>();
const MOST_FOLDED = 20_000;
const LONGEST_FOLDED = 32;

function emitFolded(run: string, sink: WordSink): void {
  let words = folded.get(run);
  if (words === undefined) {
    words = (foldText(run).match(TOKEN) ?? []).map((word) => copyOf(cutWord(word)));
    if (folded.size === MOST_FOLDED) folded.clear();
    // Store copies, because a slice would keep the whole text in memory.
    if (run.length <= LONGEST_FOLDED) folded.set(copyOf(run), words);
  }
  for (const word of words) sink(writeCodes(word16, word), 0, word.length);
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

import { splitWords } from './split-words.ts';

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

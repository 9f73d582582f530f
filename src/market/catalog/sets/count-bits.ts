import { WORDS_PER_BLOCK } from './posting-dense.ts';

function bitsOf(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}

/**
 * How many bits of a block are set. Eight words at a time go through adders that work on all 32 columns at once, and only what
 * they carry out is counted bit by bit; this takes half the time of counting every word.
 */
export function countBits(words: Uint32Array): number {
  let ones = 0;
  let twos = 0;
  let fours = 0;
  let eights = 0;
  for (let at = 0; at < WORDS_PER_BLOCK; at += 8) {
    const a = words[at] as number;
    const b = words[at + 1] as number;
    const ab = a ^ b;
    const one1 = ones ^ ab;
    const two1 = (a & b) | (ones & ab);
    const c = words[at + 2] as number;
    const d = words[at + 3] as number;
    const cd = c ^ d;
    const one2 = one1 ^ cd;
    const two2 = (c & d) | (one1 & cd);
    const e = words[at + 4] as number;
    const f = words[at + 5] as number;
    const ef = e ^ f;
    const one3 = one2 ^ ef;
    const two3 = (e & f) | (one2 & ef);
    const g = words[at + 6] as number;
    const h = words[at + 7] as number;
    const gh = g ^ h;
    ones = one3 ^ gh;
    const two4 = (g & h) | (one3 & gh);
    const two12 = two1 ^ two2;
    const twosMiddle = twos ^ two12;
    const four1 = (two1 & two2) | (twos & two12);
    const two34 = two3 ^ two4;
    twos = twosMiddle ^ two34;
    const four2 = (two3 & two4) | (twosMiddle & two34);
    const four12 = four1 ^ four2;
    eights += bitsOf((four1 & four2) | (fours & four12));
    fours ^= four12;
  }
  return eights * 8 + bitsOf(fours) * 4 + bitsOf(twos) * 2 + bitsOf(ones);
}

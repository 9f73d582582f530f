import { grown } from '../grown.ts';

/**
 * The characters of all words by number, in one array: comparing with a string goes through its form again for each character. The
 * length stands before the characters, so that one look into memory says both.
 */
export interface WordChars {
  codes: Uint16Array;
  end: number;
  /** 0: no word has this number. */
  starts: Uint32Array;
}

export function createWordChars(): WordChars {
  return { codes: new Uint16Array(8_192), end: 1, starts: new Uint32Array(1_024) };
}

/** Whether word `id`, which there is, is what stands from `start` to `end`. */
export function isWord(chars: WordChars, id: number, codes: Uint16Array, start: number, end: number): boolean {
  const own = chars.codes;
  let place = chars.starts[id] as number;
  if (own[place] !== end - start) return false;
  for (let at = start; at < end; at += 1) {
    place += 1;
    if (own[place] !== codes[at]) return false;
  }
  return true;
}

export function addChars(chars: WordChars, id: number, codes: Uint16Array, start: number, end: number): void {
  const length = end - start;
  if (id >= chars.starts.length) chars.starts = grown(chars.starts, id);
  if (chars.end + length + 1 > chars.codes.length) makeRoom(chars, length + 1);
  chars.codes[chars.end] = length;
  chars.codes.set(codes.subarray(start, end), chars.end + 1);
  chars.starts[id] = chars.end;
  chars.end += length + 1;
}

export function dropChars(chars: WordChars, id: number): void {
  chars.starts[id] = 0;
}

export function charsBytes(chars: WordChars): number {
  return chars.codes.byteLength + chars.starts.byteLength;
}

/** Copies what is still used to an array with as much room again. */
function makeRoom(chars: WordChars, wanted: number): void {
  let used = wanted + 1;
  for (const start of chars.starts) if (start !== 0) used += (chars.codes[start] as number) + 1;
  const codes = new Uint16Array(used * 2);
  let end = 1;
  for (let id = 0; id < chars.starts.length; id += 1) {
    const start = chars.starts[id] as number;
    if (start === 0) continue;
    const size = (chars.codes[start] as number) + 1;
    codes.set(chars.codes.subarray(start, start + size), end);
    chars.starts[id] = end;
    end += size;
  }
  chars.codes = codes;
  chars.end = end;
}

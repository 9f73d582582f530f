import { createPosting, levelOf, type Posting, postingBytes, setLevel } from '../sets/posting.ts';
import { type ChangeJournal, noteLevel } from './change-journal.ts';

/** The stems of all words in live listings, each with the set of listings that have it. */
export interface StemTable {
  readonly ids: Map<string, number>;
  readonly texts: string[];
  readonly postings: Posting[];
  /** Number of words in the word table with this stem. */
  readonly words: number[];
  readonly free: number[];
  bytes: number;
  /** Set while the index is being saved. */
  journal: ChangeJournal | null;
}

export function createStemTable(): StemTable {
  return { ids: new Map(), texts: [], postings: [], words: [], free: [], bytes: 0, journal: null };
}

export function postingOfStem(stems: StemTable, stem: string): Posting | null {
  const id = stems.ids.get(stem);
  return id === undefined ? null : (stems.postings[id] ?? null);
}

/** Returns the id of a stem and counts one more word that has it. */
export function holdStem(stems: StemTable, stem: string): number {
  const existing = stems.ids.get(stem);
  if (existing !== undefined) {
    stems.words[existing] = (stems.words[existing] ?? 0) + 1;
    return existing;
  }
  const id = stems.free.pop() ?? stems.texts.length;
  const posting = createPosting();
  stems.ids.set(stem, id);
  stems.texts[id] = stem;
  stems.postings[id] = posting;
  stems.words[id] = 1;
  stems.bytes += postingBytes(posting);
  return id;
}

export function releaseStem(stems: StemTable, id: number): void {
  const left = (stems.words[id] ?? 0) - 1;
  stems.words[id] = left;
  if (left > 0) return;
  const posting = stems.postings[id];
  if (posting !== undefined) stems.bytes -= postingBytes(posting);
  stems.ids.delete(stems.texts[id] ?? '');
  stems.texts[id] = '';
  stems.postings[id] = createPosting();
  stems.free.push(id);
}

export function setStemLevel(stems: StemTable, stem: number, id: number, level: number): void {
  const posting = stems.postings[stem];
  if (posting === undefined) return;
  const before = postingBytes(posting);
  setLevel(posting, id, level);
  stems.bytes += postingBytes(posting) - before;
  if (stems.journal !== null) noteLevel(stems.journal, stem, ((id << 3) | level) >>> 0);
}

export function stemLevel(stems: StemTable, stem: number, id: number): number {
  const posting = stems.postings[stem];
  return posting === undefined ? 0 : levelOf(posting, id);
}

/** Sets many levels of one stem. Each entry is listing * 8 + level. */
export function addStemLevels(stems: StemTable, stem: number, entries: Uint32Array, from: number, to: number): void {
  const posting = stems.postings[stem];
  if (posting === undefined) return;
  const before = postingBytes(posting);
  for (let index = from; index < to; index += 1) {
    const entry = entries[index] as number;
    setLevel(posting, entry >>> 3, entry & 7);
    if (stems.journal !== null) noteLevel(stems.journal, stem, entry);
  }
  stems.bytes += postingBytes(posting) - before;
}

/** Adds the next stem of a saved index, with the postings set before. An empty text is a free number. Words are counted later. */
export function restoreStem(stems: StemTable, stem: string): void {
  const id = stems.texts.length;
  stems.texts.push(stem);
  stems.words.push(0);
  stems.postings[id] ??= createPosting();
  if (stem === '') stems.free.push(id);
  else stems.ids.set(stem, id);
}

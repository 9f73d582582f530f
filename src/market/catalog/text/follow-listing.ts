import { levelOf, setLevel } from '../sets/posting.ts';
import { type DerivedEntry, type DerivedSets, dropDerived } from './derived-sets.ts';
import { encodePhrase } from './phrase.ts';
import { hasWord, levelInTally, type Tally } from './tally.ts';
import type { TextState } from './text-state.ts';
import { hasInRow } from './token-codec.ts';
import { wordId } from './word-table.ts';

/** The new text of a listing: its encoded tokens, and their tally. */
export interface TalliedText {
  readonly tally: Tally;
  readonly encoded: Uint8Array;
  readonly length: number;
}

/** Brings all derived sets in step with the new text of a listing. */
export function followListing(sets: DerivedSets, state: TextState, id: number, now: TalliedText): void {
  for (const { touched } of sets.building.values()) touched.push(id);
  if (sets.watchers.size > 0) followBeginnings(sets, state, now.tally);
  for (const entry of sets.entries.values()) {
    if (entry.posting === null) continue;
    const level = entry.kind === 'phrase' ? phraseNow(state, entry, now) : beginningNow(state, entry, now.tally);
    if (levelOf(entry.posting, id) !== level) setLevel(entry.posting, id, level);
  }
}

export function followRemoval(sets: DerivedSets, id: number): void {
  for (const { touched } of sets.building.values()) touched.push(id);
  for (const entry of sets.entries.values()) {
    if (entry.posting !== null) setLevel(entry.posting, id, 0);
  }
}

/** Goes by the words of the listing, as few of them have a beginning that is watched, and leaves the levels in `pending`. */
function followBeginnings(sets: DerivedSets, state: TextState, tally: Tally): void {
  const { groups, texts, stems } = state.words;
  for (let index = 0; index < tally.wordCount; index += 1) {
    const word = tally.words[index] as number;
    const watching = sets.watchers.get(groups[word] as number);
    if (watching === undefined) continue;
    for (const entry of watching) {
      if (!(texts[word] ?? '').startsWith(entry.words[0] ?? '')) continue;
      const stem = stems[word] as number;
      if (entry.posting !== null) entry.pending = Math.max(entry.pending, levelInTally(tally, stem));
      // The typed stem alone is no longer the answer: the next query that needs the set builds it again.
      else if (state.stems.texts[stem] !== entry.stem) dropDerived(sets, entry.key);
    }
  }
}

function beginningNow(state: TextState, entry: DerivedEntry, tally: Tally): number {
  const typed = state.stems.ids.get(entry.stem);
  const level = Math.max(entry.pending, typed === undefined ? 0 : levelInTally(tally, typed));
  entry.pending = 0;
  return level;
}

function phraseNow(state: TextState, entry: DerivedEntry, now: TalliedText): number {
  for (const text of entry.words) {
    const word = wordId(state.words, text);
    if (word === 0 || !hasWord(now.tally, word)) return 0;
  }
  const needle = encodePhrase(state, entry.words);
  return needle !== null && hasInRow(now.encoded, 0, now.length, needle) ? 1 : 0;
}

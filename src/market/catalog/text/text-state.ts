import { type ByteRuns, createByteRuns, slabOf } from '../byte-runs.ts';
import { addStemLevels, createStemTable, type StemTable, setStemLevel } from './stem-table.ts';
import { createTitleTable, type TitleTable } from './title-table.ts';
import { decodeTokens } from './tokens.ts';
import { createWordTable, type WordTable } from './word-table.ts';

/** Levels not yet written to their sets. Writing many listings set by set fetches each set once, which halves the time of indexing. */
interface WaitingLevels {
  readonly stems: Uint32Array;
  /** Listing * 8 + level, like the entries of a set. */
  readonly entries: Uint32Array;
  count: number;
  starts: Uint32Array;
  readonly sorted: Uint32Array;
}

const CAPACITY = 1 << 17;
/** Fewer entries are not worth sorting. */
const SORTED_FROM = 4_096;

export function createWaitingLevels(capacity = CAPACITY): WaitingLevels {
  return {
    stems: new Uint32Array(capacity),
    entries: new Uint32Array(capacity),
    count: 0,
    starts: new Uint32Array(0),
    sorted: new Uint32Array(capacity),
  };
}

export function addWaiting(waiting: WaitingLevels, table: StemTable, stem: number, id: number, level: number): void {
  if (waiting.count === waiting.stems.length) writeWaiting(waiting, table);
  waiting.stems[waiting.count] = stem;
  waiting.entries[waiting.count] = ((id << 3) | level) >>> 0;
  waiting.count += 1;
}

/** Call it before a set is read or a level is changed in another way. */
export function writeWaiting(waiting: WaitingLevels, table: StemTable): void {
  const { count } = waiting;
  if (count === 0) return;
  waiting.count = 0;
  // Write few entries directly, because sorting scans all stems.
  if (count < SORTED_FROM || count * 16 < table.texts.length) {
    for (let index = 0; index < count; index += 1) {
      const entry = waiting.entries[index] as number;
      setStemLevel(table, waiting.stems[index] as number, entry >>> 3, entry & 7);
    }
    return;
  }
  sortByStem(waiting, table, count);
  let from = 0;
  for (let stem = 0; stem < table.texts.length; stem += 1) {
    const to = waiting.starts[stem] as number;
    if (to > from) addStemLevels(table, stem, waiting.sorted, from, to);
    from = to;
  }
}

/** Sorts by counting, which keeps the order of listings within a stem. Afterwards `starts` holds the end of each stem. */
function sortByStem(waiting: WaitingLevels, table: StemTable, count: number): void {
  const { stems, entries, sorted } = waiting;
  const size = table.texts.length + 1;
  if (waiting.starts.length < size) waiting.starts = new Uint32Array(size * 2);
  const { starts } = waiting;
  starts.fill(0);
  for (let index = 0; index < count; index += 1) {
    const next = (stems[index] as number) + 1;
    starts[next] = (starts[next] as number) + 1;
  }
  for (let stem = 1; stem < size; stem += 1) starts[stem] = (starts[stem] as number) + (starts[stem - 1] as number);
  for (let index = 0; index < count; index += 1) {
    const stem = stems[index] as number;
    const position = starts[stem] as number;
    sorted[position] = entries[index] as number;
    starts[stem] = position + 1;
  }
}

export function waitingBytes(waiting: WaitingLevels): number {
  return waiting.stems.byteLength + waiting.entries.byteLength + waiting.sorted.byteLength + waiting.starts.byteLength;
}

export interface TextState {
  readonly words: WordTable;
  readonly stems: StemTable;
  /** Encoded tokens by listing. */
  readonly sequences: ByteRuns;
  readonly waiting: WaitingLevels;
  readonly titles: TitleTable;
  listings: number;
  /** Highest id of any listing ever indexed. */
  highest: number;
  /** Number of listings put and removed so far. */
  changes: number;
}

const SLAB_BYTES = 1 << 20;

export function createTextState(): TextState {
  const stems = createStemTable();
  return {
    words: createWordTable(stems),
    stems,
    sequences: createByteRuns(SLAB_BYTES),
    waiting: createWaitingLevels(),
    titles: createTitleTable(),
    listings: 0,
    highest: 0,
    changes: 0,
  };
}

export function noteChange(state: TextState, id: number): void {
  state.changes += 1;
  state.stems.journal?.listings.add(id);
}

let tokens = new Uint32Array(1024);

/** Tokens of a listing, up to `count`, in an array that the next call overwrites. */
export interface ListingTokens {
  readonly tokens: Uint32Array;
  readonly count: number;
}

export function listingTokens({ sequences }: TextState, id: number): ListingTokens {
  const slab = slabOf(sequences, id);
  if (slab === null) return { tokens, count: 0 };
  const length = sequences.length[id] as number;
  if (tokens.length < length) tokens = new Uint32Array(length * 2);
  return { tokens, count: decodeTokens(slab.bytes, sequences.at[id] as number, length, tokens) };
}

import { slabOf } from '../../byte-runs.ts';
import type { Posting } from '../../sets/posting.ts';
import type { Dense } from '../../sets/posting-dense.ts';
import { type ChangeJournal, createChangeJournal, isFull } from '../change-journal.ts';
import type { TextIndex } from '../text-index.ts';
import type { TextState } from '../text-state.ts';
import { BLOCK, type BlockWriter } from './blocks.ts';
import { type EndFacts, encodeFacts, encodeTexts } from './facts.ts';

/** Facts of the model that the file also holds, read at the moment that the file shows. */
export interface SavedMoment {
  /** By listing: the act that last edited it. */
  revisions: Float64Array;
  lastRevision: number;
}

const BLOCK_BYTES = 1 << 20;
/** Copying this many small sets takes about a millisecond. */
const POSTINGS_PER_BLOCK = 8_192;
const TEXTS_PER_BLOCK = 8_192;
const NUMBERS_PER_BLOCK = 1 << 17;

/**
 * Writes the index block by block, while listings may change between two blocks. A journal notes these changes. The file ends with them, so
 * that it shows the index as it is when the last set was written, which is when `momentNow` is called.
 */
export async function writeIndex(
  index: TextIndex,
  writer: BlockWriter,
  momentNow: () => SavedMoment,
  blockBytes = BLOCK_BYTES,
): Promise<Omit<EndFacts, 'anchor'>> {
  const journal = createChangeJournal();
  const state = index.state();
  state.stems.journal = journal;
  try {
    await writeSequences(state, writer, blockBytes);
    await writePostings(state, writer, blockBytes, journal);
    index.state();
    refuseFull(journal);
  } finally {
    state.stems.journal = null;
  }
  // No other code runs between the last change in the journal and these copies.
  return await writeTables(copyTables(state, journal, momentNow()), writer);
}

function refuseFull(journal: ChangeJournal): void {
  if (isFull(journal)) throw new Error('the index changes faster than it can be saved');
}

async function writeSequences(state: TextState, writer: BlockWriter, blockBytes: number): Promise<void> {
  let bytes = new Uint8Array(blockBytes);
  const runs: number[] = [];
  let end = 0;
  const flush = async (): Promise<void> => {
    if (runs.length === 0) return;
    await writer.write(BLOCK.sequences, bytesOf(Uint32Array.from(runs)), bytes.subarray(0, end));
    runs.length = 0;
    end = 0;
  };
  for (let id = 1; id <= state.highest; id += 1) {
    let run = sequenceOf(state, id);
    if (run === null) continue;
    if (end + run.length > bytes.length) {
      await flush();
      // The listing may have changed meanwhile. The journal brings it up to date, unless it is no more.
      run = sequenceOf(state, id);
      if (run === null) continue;
      if (run.length > bytes.length) bytes = new Uint8Array(run.length);
    }
    bytes.set(run, end);
    runs.push(id, end, run.length);
    end += run.length;
  }
  await flush();
}

function sequenceOf({ sequences }: TextState, id: number): Uint8Array | null {
  const slab = slabOf(sequences, id);
  if (slab === null) return null;
  const at = sequences.at[id] as number;
  return slab.bytes.subarray(at, at + (sequences.length[id] as number));
}

/** Numbers before the members of a set: stem, count, mask of planes, and words of a plane, or 0 for a list. */
const POSTING_HEAD = 4;

async function writePostings(
  { stems }: TextState,
  writer: BlockWriter,
  blockBytes: number,
  journal: ChangeJournal,
): Promise<void> {
  let words = new Uint32Array(blockBytes >>> 2);
  let end = 0;
  let count = 0;
  const flush = async (): Promise<void> => {
    if (count > 0) await writer.write(BLOCK.postings, bytesOf(words.subarray(0, end)));
    refuseFull(journal);
    end = 0;
    count = 0;
  };
  // Stems that are added meanwhile are in the journal as a whole.
  const upTo = stems.postings.length;
  for (let stem = 0; stem < upTo; stem += 1) {
    const size = postingSize(stems.postings[stem]);
    if (size === 0) continue;
    if (end + size > words.length || count === POSTINGS_PER_BLOCK) await flush();
    // The set may have grown meanwhile.
    const posting = stems.postings[stem];
    const needed = postingSize(posting);
    if (posting === undefined || needed === 0) continue;
    if (end + needed > words.length) words = new Uint32Array(needed);
    end = copyPosting(words, end, stem, posting);
    count += 1;
  }
  await flush();
}

function postingSize(posting: Posting | undefined): number {
  if (posting === undefined || posting.count === 0) return 0;
  return (
    POSTING_HEAD +
    (posting.dense === null ? posting.count : posting.dense.member.length * planesOf(posting.dense).length)
  );
}

function copyPosting(
  words: Uint32Array,
  from: number,
  stem: number,
  { count, dense, entries, planes }: Posting,
): number {
  words[from] = stem;
  words[from + 1] = count;
  words[from + 2] = dense?.own ?? planes;
  words[from + 3] = dense?.member.length ?? 0;
  let end = from + POSTING_HEAD;
  if (dense === null) {
    // Copying a short list by hand is faster than a view of it.
    if (count < 16) for (let index = 0; index < count; index += 1) words[end + index] = entries[index] as number;
    else words.set(entries.subarray(0, count), end);
    return end + count;
  }
  for (const plane of planesOf(dense)) {
    words.set(plane.subarray(0, dense.member.length), end);
    end += dense.member.length;
  }
  return end;
}

/** Returns the planes that the set owns. Those it shares are zero. */
export function planesOf({ member, bit0, bit1, bit2, own }: Dense): Uint32Array[] {
  return [member, ...(own & 1 ? [bit0] : []), ...(own & 2 ? [bit1] : []), ...(own & 4 ? [bit2] : [])];
}

/** The rest of the index at one moment: tables that are small enough to copy at once, and the journal. */
interface CopiedTables {
  stems: readonly string[];
  words: readonly string[];
  stemOfWord: Uint32Array;
  listingsOfWord: Uint32Array;
  titles: Uint32Array;
  moment: SavedMoment;
  journal: ChangeJournal;
  /** Sequences of the listings in the journal; null for one that was removed. Their bytes are never rewritten. */
  changed: readonly (readonly [id: number, run: Uint8Array | null])[];
  listings: number;
  highest: number;
}

function copyTables(state: TextState, journal: ChangeJournal, moment: SavedMoment): CopiedTables {
  const { words, stems, titles, listings, highest } = state;
  const count = words.texts.length;
  return {
    stems: stems.texts.slice(),
    words: words.texts.slice(),
    stemOfWord: words.stems.slice(0, count),
    listingsOfWord: words.listings.slice(0, count),
    titles: titles.hashes.slice(0, highest + 1),
    moment,
    journal,
    changed: [...journal.listings].map((id) => [id, sequenceOf(state, id)]),
    listings,
    highest,
  };
}

async function writeTables(tables: CopiedTables, writer: BlockWriter): Promise<Omit<EndFacts, 'anchor'>> {
  const { stems, words, stemOfWord, listingsOfWord, titles, moment, journal, changed } = tables;
  for (let from = 0; from < stems.length; from += TEXTS_PER_BLOCK) {
    await writer.write(BLOCK.stems, encodeTexts(stems.slice(from, from + TEXTS_PER_BLOCK)));
  }
  for (let from = 0; from < words.length; from += TEXTS_PER_BLOCK) {
    const texts = words.slice(from, from + TEXTS_PER_BLOCK);
    const numbers = new Uint32Array(texts.length * 2);
    numbers.set(stemOfWord.subarray(from, from + texts.length));
    numbers.set(listingsOfWord.subarray(from, from + texts.length), texts.length);
    await writer.write(BLOCK.words, encodeTexts(texts), bytesOf(numbers));
  }
  for (let from = 0; from < titles.length; from += NUMBERS_PER_BLOCK)
    await writer.write(BLOCK.titles, bytesOf(titles.subarray(from, from + NUMBERS_PER_BLOCK)));
  const revisions = moment.revisions;
  for (let from = 0; from < revisions.length; from += NUMBERS_PER_BLOCK)
    await writer.write(BLOCK.revisions, bytesOf(revisions.subarray(from, from + NUMBERS_PER_BLOCK)));
  for (let from = 0; from < journal.count; from += NUMBERS_PER_BLOCK) {
    const to = Math.min(journal.count, from + NUMBERS_PER_BLOCK);
    await writer.write(
      BLOCK.levels,
      bytesOf(journal.stems.subarray(from, to)),
      bytesOf(journal.entries.subarray(from, to)),
    );
  }
  for (const [id, run] of changed) await writer.write(BLOCK.changed, bytesOf(Uint32Array.of(id)), run ?? undefined);
  return {
    lastRevision: moment.lastRevision,
    listings: tables.listings,
    highest: tables.highest,
    words: words.length,
    stems: stems.length,
  };
}

function bytesOf(array: Uint32Array | Float64Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}

/** Writes the last block, without which the file counts as damaged. */
export async function writeEnd(writer: BlockWriter, facts: EndFacts): Promise<void> {
  await writer.write(BLOCK.end, encodeFacts(facts));
}

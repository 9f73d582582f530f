import type { FileHandle } from 'node:fs/promises';
import { adoptSlab, dropRun, putRun, slabOf } from '../../byte-runs.ts';
import { postingBytes, postingOfEntries, postingOfPlanes } from '../../sets/posting.ts';
import { createDense } from '../../sets/posting-dense.ts';
import { restoreStem, type StemTable, setStemLevel } from '../stem-table.ts';
import { createTextState, type TextState } from '../text-state.ts';
import { linkTitles, restoreTitles } from '../title-table.ts';
import { FIRST_WORD } from '../tokens.ts';
import { restoreWord } from '../word-table.ts';
import { BLOCK, createBlockReader, DamagedFile } from './blocks.ts';
import { decodeEnd, decodeIdentity, decodeTexts, type EndFacts, type Identity } from './facts.ts';
import { planesOf } from './write-index.ts';

export interface ReadIndex extends EndFacts {
  identity: Identity;
  state: TextState;
  /** By listing: the act that last edited it when the file was written. */
  revisions: Float64Array;
}

export interface Reading {
  /** Throws if the file is not to be used. Called before anything else of the file is read. */
  judge(identity: Identity): void;
  giveWay(): Promise<void>;
  signal: AbortSignal;
}

/** Reads a saved index in slices. Throws DamagedFile if it is not exactly as it was written. */
export async function readIndex(handle: FileHandle, { judge, giveWay, signal }: Reading): Promise<ReadIndex> {
  const reader = await createBlockReader(handle);
  const opening = await reader.next();
  if (opening.kind !== BLOCK.identity) throw new DamagedFile('the file does not begin with its identity');
  const identity = decodeIdentity(opening.first);
  judge(identity);
  const parts = createParts();
  for (;;) {
    signal.throwIfAborted();
    const block = await reader.next();
    if (block.kind === BLOCK.end) {
      if (!reader.isAtEnd()) throw new DamagedFile('the file goes on after its end');
      const end = decodeEnd(block.first);
      const { state } = parts;
      const titles = concat(parts.titles, (length) => new Uint32Array(length));
      restoreTitles(state.titles, titles);
      for (let from = 0; from < titles.length; from += TITLES_PER_SLICE) {
        linkTitles(state.titles, from, Math.min(titles.length, from + TITLES_PER_SLICE));
        await giveWay();
      }
      finishState(parts, end);
      return { ...end, identity, state, revisions: concat(parts.revisions, (length) => new Float64Array(length)) };
    }
    takeBlock(parts, block);
    await giveWay();
  }
}

const TITLES_PER_SLICE = 1 << 16;

interface Parts {
  readonly state: TextState;
  readonly titles: Uint32Array[];
  readonly revisions: Float64Array[];
}

function createParts(): Parts {
  const state = createTextState();
  // The words' numbers begin after those of the marks, which are saved like words.
  state.words.texts.length = 0;
  return { state, titles: [], revisions: [] };
}

interface ReadBlock {
  kind: number;
  first: Uint8Array<ArrayBuffer>;
  second: Buffer;
}

function takeBlock({ state, titles, revisions }: Parts, { kind, first, second }: ReadBlock): void {
  const { stems } = state;
  if (kind === BLOCK.sequences) adoptSlab(state.sequences, second, numbersOf(first));
  else if (kind === BLOCK.postings) takePostings(stems, numbersOf(first));
  else if (kind === BLOCK.stems) for (const stem of decodeTexts(first)) restoreStem(stems, stem);
  else if (kind === BLOCK.words) takeWords(state, decodeTexts(first), numbersOf(second));
  else if (kind === BLOCK.titles) titles.push(numbersOf(first).slice());
  else if (kind === BLOCK.revisions) revisions.push(new Float64Array(first.slice().buffer));
  else if (kind === BLOCK.levels) takeLevels(stems, numbersOf(first), numbersOf(second));
  else if (kind === BLOCK.changed) {
    const [id = 0] = numbersOf(first);
    if (second.length === 0) dropRun(state.sequences, id);
    else putRun(state.sequences, id, [second]);
  } else throw new DamagedFile(`there is no block of kind ${kind}`);
}

function numbersOf(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2);
}

function takePostings(stems: StemTable, words: Uint32Array): void {
  for (let at = 0; at < words.length; ) {
    const stem = words[at] as number;
    const count = words[at + 1] as number;
    const planes = words[at + 2] as number;
    const length = words[at + 3] as number;
    at += 4;
    while (stems.postings.length < stem) stems.postings.push(postingOfEntries(new Uint32Array(0), 0));
    if (length === 0) {
      stems.postings[stem] = postingOfEntries(words.slice(at, at + count), planes);
      at += count;
      continue;
    }
    const dense = createDense(length * 32 - 1, planes);
    for (const plane of planesOf(dense)) {
      plane.set(words.subarray(at, at + length));
      at += length;
    }
    stems.postings[stem] = postingOfPlanes(dense, count);
  }
}

function takeWords(state: TextState, texts: readonly string[], numbers: Uint32Array): void {
  const { words } = state;
  for (const [index, text] of texts.entries()) {
    if (words.texts.length < FIRST_WORD) words.texts.push('');
    else restoreWord(words, text, numbers[index] as number, numbers[texts.length + index] as number);
  }
}

/** Sets the levels that changed while the index was saved. */
function takeLevels(table: StemTable, stems: Uint32Array, entries: Uint32Array): void {
  for (let index = 0; index < stems.length; index += 1) {
    const entry = entries[index] as number;
    setStemLevel(table, stems[index] as number, entry >>> 3, entry & 7);
  }
}

function finishState({ state }: Parts, end: EndFacts): void {
  const { stems, words, sequences } = state;
  state.highest = end.highest;
  for (let id = 1; id <= end.highest; id += 1) if (slabOf(sequences, id) !== null) state.listings += 1;
  stems.bytes = 0;
  for (const [stem, text] of stems.texts.entries()) {
    const posting = stems.postings[stem];
    if (posting === undefined) continue;
    if (text !== '') stems.bytes += postingBytes(posting);
    else if (posting.count > 0) throw new DamagedFile(`number ${stem} has listings and no stem`);
  }
  const isWhole =
    state.listings === end.listings && words.texts.length === end.words && stems.postings.length === end.stems;
  if (!isWhole) throw new DamagedFile('the parts of the file do not fit together');
}

function concat<Column extends Uint32Array | Float64Array>(
  parts: readonly Column[],
  create: (length: number) => Column,
): Column {
  const whole = create(parts.reduce((sum, part) => sum + part.length, 0));
  let end = 0;
  for (const part of parts) {
    whole.set(part, end);
    end += part.length;
  }
  return whole;
}

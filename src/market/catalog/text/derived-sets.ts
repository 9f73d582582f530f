import { type Posting, postingBytes } from '../sets/posting.ts';
import { stemOf } from './stem-table.ts';
import type { TextState } from './text-state.ts';
import { groupOf } from './word-table.ts';

/**
 * Sets that are made for a query: beginnings and phrases. What a listing is in such a set depends on its own text alone, so the sets
 * are kept, and each change of a listing is followed in all of them. The least used leave when there are too many.
 */
export interface DerivedSets {
  readonly entries: Map<string, DerivedEntry>;
  /** Beginnings by the group of their words. */
  readonly watchers: Map<number, readonly DerivedEntry[]>;
  readonly building: Map<string, Building>;
  readonly giveWay: () => Promise<void>;
  readonly mostBytes: number;
  /** Of all entries, each as it was when it was made. */
  bytes: number;
}

export interface DerivedEntry {
  readonly key: string;
  readonly kind: 'beginning' | 'phrase';
  /** The words of the phrase, or the one beginning. */
  readonly words: readonly string[];
  /** The group of a beginning; 0 for a phrase. */
  readonly group: number;
  /** The stem of a beginning; empty for a phrase. */
  readonly stem: string;
  /** Null: a beginning that only words of the typed stem fulfil. The stem's own set is the answer. */
  readonly posting: Posting | null;
  readonly bytes: number;
  /** Room for the level of the listing that is being followed. */
  pending: number;
}

export interface Building {
  readonly done: Promise<void>;
  /** Listings that changed meanwhile: they may have been seen before or after, so they are looked at again at the end. */
  readonly touched: number[];
}

/** A change of a listing is followed in each of them. */
const MOST_ENTRIES = 4_096;
const MOST_BYTES = 64 * 1024 * 1024;
/** A query has at most about 50 terms: those of one query never push each other out. */
const ALWAYS_KEPT = 64;

export interface DerivedSetsOptions {
  giveWay(): Promise<void>;
  mostBytes?: number;
}

export function createDerivedSets(options: DerivedSetsOptions): DerivedSets {
  const { giveWay, mostBytes = MOST_BYTES } = options;
  return { entries: new Map(), watchers: new Map(), building: new Map(), giveWay, mostBytes, bytes: 0 };
}

export function beginningKey(beginning: string): string {
  return `${beginning}*`;
}

export function phraseKey(words: readonly string[]): string {
  return words.join(' ');
}

/** A kept set, which is now the last to leave. */
export function keptDerived(sets: DerivedSets, key: string): DerivedEntry | null {
  const entry = sets.entries.get(key);
  if (entry === undefined) return null;
  sets.entries.delete(key);
  sets.entries.set(key, entry);
  return entry;
}

export function keepBeginning(sets: DerivedSets, state: TextState, beginning: string, posting: Posting | null): void {
  const key = beginningKey(beginning);
  const group = groupOf(state.words, beginning);
  const entry: DerivedEntry = {
    key,
    kind: 'beginning',
    words: [beginning],
    group,
    stem: stemOf(beginning),
    posting,
    bytes: bytesOf(posting),
    pending: 0,
  };
  keep(sets, entry);
  sets.watchers.set(group, [...(sets.watchers.get(group) ?? []), entry]);
  makeRoom(sets);
}

export function keepPhrase(sets: DerivedSets, words: readonly string[], posting: Posting): void {
  const key = phraseKey(words);
  keep(sets, { key, kind: 'phrase', words, group: 0, stem: '', posting, bytes: bytesOf(posting), pending: 0 });
  makeRoom(sets);
}

function keep(sets: DerivedSets, entry: DerivedEntry): void {
  dropDerived(sets, entry.key);
  sets.entries.set(entry.key, entry);
  sets.bytes += entry.bytes;
}

export function dropDerived(sets: DerivedSets, key: string): void {
  const entry = sets.entries.get(key);
  if (entry === undefined) return;
  sets.entries.delete(key);
  sets.bytes -= entry.bytes;
  if (entry.kind !== 'beginning') return;
  const others = (sets.watchers.get(entry.group) ?? []).filter((one) => one !== entry);
  if (others.length === 0) sets.watchers.delete(entry.group);
  else sets.watchers.set(entry.group, others);
}

/** An entry without its posting, in about as many bytes. */
const ENTRY_BYTES = 200;

function bytesOf(posting: Posting | null): number {
  return ENTRY_BYTES + (posting === null ? 0 : postingBytes(posting));
}

function makeRoom(sets: DerivedSets): void {
  for (const key of sets.entries.keys()) {
    const left = sets.entries.size;
    if (left <= ALWAYS_KEPT || (left <= MOST_ENTRIES && sets.bytes <= sets.mostBytes)) return;
    dropDerived(sets, key);
  }
}

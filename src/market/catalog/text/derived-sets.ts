import { type Posting, postingBytes } from '../sets/posting.ts';
import { stemOf } from './stem.ts';
import type { TextState } from './text-state.ts';
import { groupOf } from './word-table.ts';

/**
 * Sets built for queries; the least recently used are dropped. Membership depends only on a listing's own text, so a change of a listing
 * updates that one listing in each set.
 */
export interface DerivedSets {
  readonly entries: Map<string, DerivedEntry>;
  /** The entries of beginnings, by group. */
  readonly watchers: Map<number, readonly DerivedEntry[]>;
  readonly building: Map<string, Building>;
  readonly giveWay: () => Promise<void>;
  readonly mostBytes: number;
  /** Size of all entries, each measured when it was built. */
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
  /** Null for a beginning if all matching words have its stem; the set of that stem is used then. */
  readonly posting: Posting | null;
  readonly bytes: number;
  /** Scratch space for the level of the listing being updated. */
  pending: number;
}

export interface Building {
  readonly done: Promise<void>;
  /** Listings that changed during the build. The build may have seen either version, so they are updated at the end. */
  readonly touched: number[];
}

/** Bounds the cost of a listing change, which updates each entry. */
const MOST_ENTRIES = 4_096;
const MOST_BYTES = 64 * 1024 * 1024;
/** A query has at most about 50 terms, so terms of one query never evict each other. */
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

/** Returns a kept set and marks it as the most recently used. */
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
  keepEntry(sets, entry);
  sets.watchers.set(group, [...(sets.watchers.get(group) ?? []), entry]);
  makeRoom(sets);
}

export function keepPhrase(sets: DerivedSets, words: readonly string[], posting: Posting): void {
  const key = phraseKey(words);
  keepEntry(sets, { key, kind: 'phrase', words, group: 0, stem: '', posting, bytes: bytesOf(posting), pending: 0 });
  makeRoom(sets);
}

function keepEntry(sets: DerivedSets, entry: DerivedEntry): void {
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

/** The approximate bytes of an entry without its posting. */
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

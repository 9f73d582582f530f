/** Changes of the index since a moment, so that a copy taken in slices can be brought to the state at its end. */
export interface ChangeJournal {
  readonly listings: Set<number>;
  /** Stem, and listing * 8 + level, of each level that was set. A later entry replaces an earlier one of the same stem and listing. */
  stems: Uint32Array;
  entries: Uint32Array;
  count: number;
}

/** More changes are not worth noting: the copy is given up. */
const MOST_LEVELS = 4_000_000;
const FIRST_LEVELS = 1_024;

export function createChangeJournal(): ChangeJournal {
  return {
    listings: new Set(),
    stems: new Uint32Array(FIRST_LEVELS),
    entries: new Uint32Array(FIRST_LEVELS),
    count: 0,
  };
}

export function noteLevel(journal: ChangeJournal, stem: number, entry: number): void {
  if (journal.count === journal.stems.length) {
    if (isFull(journal)) return;
    journal.stems = doubled(journal.stems);
    journal.entries = doubled(journal.entries);
  }
  journal.stems[journal.count] = stem;
  journal.entries[journal.count] = entry;
  journal.count += 1;
}

/** Returns whether changes may be missing. */
export function isFull(journal: ChangeJournal): boolean {
  return journal.count >= MOST_LEVELS;
}

function doubled(column: Uint32Array): Uint32Array {
  const larger = new Uint32Array(column.length * 2);
  larger.set(column);
  return larger;
}

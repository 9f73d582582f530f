import { type FragmentStore, storedSize } from './fragment-store.ts';
import { discard, mostWasted, reserve, type Slab, type Slabs } from './slabs.ts';

/** Garbage may be this part of what is held before slabs are emptied for it. */
const GARBAGE_SHARE = 1 / 8;

/** With the share above, a byte of garbage costs at most eight moved bytes; more, so that compaction gains on the writer. */
const MOVED_PER_WRITTEN = 12;

const SCANNED_PER_STEP = 2048;

/** Empties one slab at a time: its current fragments move to the open slab, found by a walk over the ids. */
export interface Compaction {
  victim: Slab | null;
  nextId: number;
}

export function createCompaction(): Compaction {
  return { victim: null, nextId: 0 };
}

/**
 * A small piece of compaction, in proportion to what was just written. Nothing is ever put into a sealed slab, so one walk
 * finds everything that the victim holds, however many writes come between.
 */
export function compactStep(compaction: Compaction, store: FragmentStore, lowestId: number, written: number): void {
  const { slabs, columns } = store;
  const victim = compaction.victim ?? chooseVictim(compaction, slabs, lowestId);
  if (victim === null) return;
  const { slab: places, highest } = columns;
  const last = Math.min(highest, compaction.nextId + SCANNED_PER_STEP);
  let moves = written * MOVED_PER_WRITTEN;
  let id = compaction.nextId;
  for (; id <= last && moves > 0 && victim.live > 0; id++) {
    if (places[id] !== victim.number) continue;
    moves -= moveFragment(store, victim, id);
  }
  compaction.nextId = id;
  if (victim.live === 0 || id > highest) compaction.victim = null;
}

function chooseVictim(compaction: Compaction, slabs: Slabs, lowestId: number): Slab | null {
  const allowed = Math.max(2 * slabs.slabBytes, slabs.held * GARBAGE_SHARE);
  if (slabs.garbage <= allowed) return null;
  compaction.victim = mostWasted(slabs);
  compaction.nextId = lowestId;
  return compaction.victim;
}

/** Gives how many bytes that were. */
function moveFragment(store: FragmentStore, from: Slab, id: number): number {
  const { slabs, columns } = store;
  const size = storedSize(store, id);
  const at = columns.at[id] ?? 0;
  const to = reserve(slabs, size);
  from.bytes.copy(to.bytes, to.from + 1, at, at + size);
  columns.slab[id] = to.number;
  columns.at[id] = to.from + 1;
  discard(slabs, from, size);
  return size;
}

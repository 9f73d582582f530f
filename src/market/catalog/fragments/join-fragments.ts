import type { FragmentStore } from './fragment-store.ts';

const CLOSING_BRACE = 0x7d;
const NOTHING = Buffer.alloc(0);

/**
 * Fragments with commas between, from `at` on; gives the place behind, or -1 when one is not held. Each lies in its slab
 * behind a comma of its own, and what is of neighbours there is copied together, from one usual middle to the next.
 */
export function joinWhole(store: FragmentStore, ids: readonly number[], target: Uint8Array, at: number): number {
  const { slabs, columns, middle } = store;
  const { slab: places, at: offsets, size: sizes, cut: cuts } = columns;
  let written = at;
  // The run that is still to be copied: of this slab, from here to there. None at first.
  let number = 0;
  let run: Buffer = NOTHING;
  let from = 0;
  let to = 0;
  for (const id of ids) {
    const place = places[id] ?? 0;
    if (place === 0) return -1;
    const offset = offsets[id] ?? 0;
    if (place !== number || offset - 1 !== to) {
      written += run.copy(target, written, from, to);
      // The very first fragment leaves its comma behind.
      from = number === 0 ? offset : offset - 1;
      number = place;
      run = slabs.table[place]?.bytes ?? NOTHING;
    }
    to = offset + (sizes[id] ?? 0);
    const cut = cuts[id] ?? 0;
    if (cut === 0) continue;
    written += run.copy(target, written, from, offset + cut);
    written += middle.copy(target, written);
    from = offset + cut;
    to -= middle.length;
  }
  return written + run.copy(target, written, from, to);
}

/** The same with outlines: the head of each fragment and a closing brace. */
export function joinHeads(store: FragmentStore, ids: readonly number[], target: Uint8Array, at: number): number {
  const { slabs, columns } = store;
  const { slab: places, at: offsets, head: heads } = columns;
  let written = at;
  for (const id of ids) {
    const slab = slabs.table[places[id] ?? 0];
    if (!slab) return -1;
    const offset = offsets[id] ?? 0;
    const from = written === at ? offset : offset - 1;
    written += slab.bytes.copy(target, written, from, offset + (heads[id] ?? 0));
    target[written] = CLOSING_BRACE;
    written += 1;
  }
  return written;
}

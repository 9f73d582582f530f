import { slabOf } from '../byte-runs.ts';
import type { FragmentStore } from './fragment-store.ts';

const CLOSING_BRACE = 0x7d;
const NOTHING = Buffer.alloc(0);

/**
 * Fragments with commas between, from `at` on; gives the place behind, or -1 when one is not held. Each lies in its slab
 * behind a comma of its own, and what is of neighbours there is copied together, from one usual middle to the next.
 */
export function joinWhole(store: FragmentStore, ids: readonly number[], target: Uint8Array, at: number): number {
  const { runs, middle, cut: cuts } = store;
  const { slab: places, at: commas, length: lengths } = runs;
  let written = at;
  // The run that is still to be copied: of this slab, from here to there. None at first.
  let number = 0;
  let run: Buffer = NOTHING;
  let from = 0;
  let to = 0;
  for (const id of ids) {
    const place = places[id] ?? 0;
    if (place === 0) return -1;
    const comma = commas[id] ?? 0;
    if (place !== number || comma !== to) {
      written += run.copy(target, written, from, to);
      // The very first fragment leaves its comma behind.
      from = number === 0 ? comma + 1 : comma;
      number = place;
      run = runs.table[place]?.bytes ?? NOTHING;
    }
    to = comma + (lengths[id] ?? 0);
    const cut = cuts[id] ?? 0;
    if (cut === 0) continue;
    written += run.copy(target, written, from, comma + 1 + cut);
    written += middle.copy(target, written);
    from = comma + 1 + cut;
  }
  return written + run.copy(target, written, from, to);
}

/** The same with outlines: the head of each fragment and a closing brace. */
export function joinHeads(store: FragmentStore, ids: readonly number[], target: Uint8Array, at: number): number {
  const { runs, head: heads } = store;
  let written = at;
  for (const id of ids) {
    const slab = slabOf(runs, id);
    if (slab === null) return -1;
    const comma = runs.at[id] ?? 0;
    written += slab.bytes.copy(target, written, written === at ? comma + 1 : comma, comma + 1 + (heads[id] ?? 0));
    target[written] = CLOSING_BRACE;
    written += 1;
  }
  return written;
}

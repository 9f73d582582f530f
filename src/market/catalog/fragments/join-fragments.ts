import type { FragmentColumns } from './fragment-columns.ts';
import type { Slab, Slabs } from './slabs.ts';

const CLOSING_BRACE = 0x7d;

/**
 * Fragments with commas between, from `at` on; gives the place behind, or -1 when one is not held. Each lies in its slab
 * behind a comma of its own, and fragments that are neighbours there are copied together.
 */
export function joinWhole(
  slabs: Slabs,
  columns: FragmentColumns,
  ids: readonly number[],
  target: Uint8Array,
  at: number,
): number {
  const { slab: places, at: offsets, size: sizes } = columns;
  let written = at;
  let number = 0;
  // The run that is still to be copied: of this slab, from here to there.
  let slab: Slab | null = null;
  let from = 0;
  let to = 0;
  for (const id of ids) {
    const place = places[id] ?? 0;
    if (place === 0) return -1;
    const offset = offsets[id] ?? 0;
    if (place === number && offset - 1 === to) {
      to = offset + (sizes[id] ?? 0);
      continue;
    }
    if (slab !== null) written += slab.bytes.copy(target, written, from, to);
    // The very first fragment leaves its comma behind.
    from = slab === null ? offset : offset - 1;
    to = offset + (sizes[id] ?? 0);
    number = place;
    slab = slabs.table[place] ?? null;
  }
  if (slab !== null) written += slab.bytes.copy(target, written, from, to);
  return written;
}

/** The same with outlines: the head of each fragment and a closing brace. */
export function joinHeads(
  slabs: Slabs,
  columns: FragmentColumns,
  ids: readonly number[],
  target: Uint8Array,
  at: number,
): number {
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

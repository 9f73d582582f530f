import {
  addBlock,
  type Block,
  createBlockGeneration,
  ENTRY_BYTES,
  emptyGeneration,
  readBlock,
} from './block-generation.ts';
import { deflateFragment } from './deflate-fragment.ts';
import type { Fragments } from './fragments.ts';

const FIRST_CAPACITY = 1024;

/** What a generation can number the places of. */
const LARGEST_GENERATION_BYTES = 2 ** 31;

/** Fragments in compressed form, made when a page first needs them. */
export interface Deflated {
  /** How many of these would have to be compressed now; -1 when one of those is not held any more. */
  missing(ids: readonly number[]): number;
  /** The block of a fragment; the record is written again by the next call. Null: not there, and not held either. */
  block(id: number): Block | null;
  /** The budget was too small for what was asked for: blocks were given up to make room. */
  pressed(): boolean;
  bytes(): number;
}

/**
 * Two generations share the budget: blocks are added to the young one, and what is asked for in the old one moves over. When
 * the young one is full it becomes the old one, and what nobody asked for in the meantime is gone.
 */
export function createDeflated(fragments: Fragments, options: { budgetBytes: number }): Deflated {
  const generationBytes = Math.min(options.budgetBytes / 2, LARGEST_GENERATION_BYTES);
  const pair = [createBlockGeneration(), createBlockGeneration()] as const;
  let young: 0 | 1 = 0;
  let isPressed = false;
  // By id: twice the entry, and one more when it is in the second generation. Entries tell whose they are: this may be stale.
  let hints = new Uint32Array(0);
  const found: Block = { source: Buffer.alloc(0), from: 0, length: 0, crc: 0, size: 0, shift: 0 };

  /** The hint of the block of the current version, or -1. */
  const look = (id: number, version: number): number => {
    const hint = hints[id] ?? 0;
    const generation = pair[hint & 1 ? 1 : 0];
    const entry = hint >>> 1;
    return entry < generation.count && generation.ids[entry] === id && generation.versions[entry] === version
      ? hint
      : -1;
  };

  const add = (id: number, version: number, block: Block): void => {
    const needed = block.length + ENTRY_BYTES;
    if (needed > generationBytes) return;
    if (pair[young].bytes + needed > generationBytes) {
      young = young === 0 ? 1 : 0;
      isPressed ||= pair[young].count > 0;
      emptyGeneration(pair[young]);
    }
    if (id >= hints.length) {
      const larger = new Uint32Array(Math.max(FIRST_CAPACITY, 2 ** Math.ceil(Math.log2(id + 1))));
      larger.set(hints);
      hints = larger;
    }
    hints[id] = addBlock(pair[young], id, version, block) * 2 + young;
  };

  return {
    missing(ids) {
      let count = 0;
      for (const id of ids) {
        if (look(id, fragments.version(id)) >= 0) continue;
        if (!fragments.held(id)) return -1;
        count += 1;
      }
      return count;
    },
    block(id) {
      const version = fragments.version(id);
      const hint = look(id, version);
      if (hint < 0) {
        const fragment = fragments.view(id);
        if (fragment === null) return null;
        const block = deflateFragment(fragment);
        add(id, version, block);
        return block;
      }
      readBlock(pair[hint & 1 ? 1 : 0], hint >>> 1, found);
      if ((hint & 1) !== young) {
        add(id, version, found);
        // Making room may have emptied the very generation it was found in; what was added is the same.
        const moved = look(id, version);
        if (moved >= 0) readBlock(pair[moved & 1 ? 1 : 0], moved >>> 1, found);
      }
      return found;
    },
    pressed: () => isPressed,
    bytes: () => pair[0].bytes + pair[1].bytes,
  };
}

import { createBlockMask, loadBlock } from './block-mask.ts';
import { nextBatch, openCandidates } from './candidates.ts';
import { type Selection, smallestOf } from './selection.ts';

let marks = new Uint32Array(0);

/**
 * One plane of bits for all that the sets of a selection let through, tests aside. It is shared: the next call overwrites it. Bits
 * beyond the end of the plane are not set.
 */
export function markMatches({ must, mustNot }: Selection): Uint32Array {
  const selection = { must, mustNot, tests: [] };
  const driver = smallestOf(must);
  if (driver.dense !== null) return markBlocks(selection, driver.dense.member.length);
  const last = driver.count === 0 ? 0 : (driver.entries[driver.count - 1] as number) >>> 3;
  const plane = emptyPlane((last >>> 5) + 1);
  if (must.length === 1 && mustNot.length === 0) {
    for (let place = 0; place < driver.count; place += 1) setBit(plane, (driver.entries[place] as number) >>> 3);
    return plane;
  }
  const candidates = openCandidates(selection, [], Number.POSITIVE_INFINITY);
  const { ids } = candidates;
  for (let count = nextBatch(candidates); count > 0; count = nextBatch(candidates)) {
    for (let at = 0; at < count; at += 1) setBit(plane, ids[at] as number);
  }
  return plane;
}

function setBit(plane: Uint32Array, id: number): void {
  plane[id >>> 5] = (plane[id >>> 5] as number) | (1 << (id & 31));
}

function markBlocks(selection: Selection, words: number): Uint32Array {
  const plane = emptyPlane(words);
  const mask = createBlockMask(selection);
  for (let block = 0; block < mask.blocks; block += 1) {
    if (loadBlock(mask, block)) plane.set(mask.words, block * mask.words.length);
  }
  return plane;
}

function emptyPlane(words: number): Uint32Array {
  if (marks.length < words) marks = new Uint32Array(words * 2);
  else marks.fill(0);
  return marks;
}

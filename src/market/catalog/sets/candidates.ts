import { type BlockMask, createBlockMask, loadBlock } from './block-mask.ts';
import { BATCH, type Filter, holdAgainst, holdAgainstTests, IDS, SCORES } from './hold-against.ts';
import type { Posting } from './posting.ts';
import { BLOCK_SHIFT, WORDS_PER_BLOCK } from './posting-dense.ts';
import { placeOf } from './posting-sparse.ts';
import { type Selection, smallestOf, type Weighted } from './selection.ts';

const FIRST_BATCH = 64;

/**
 * The ids of a selection, newest first, in batches. Where the smallest set is a list, its entries are held against the other sets
 * one set after the other; where it has planes, blocks of planes are put together.
 */
export interface Candidates {
  /** Filled by `nextBatch`. Shared by all, as only one selection is worked with at a time. */
  readonly ids: Uint32Array;
  /** Scores of the ids, where the smallest set is a list. */
  readonly scores: Float64Array;
  readonly driver: Posting;
  readonly driverWeight: number;
  /** Entries of the driver at a lower level may be left out: the caller wants no more of them. */
  lowestLevel: number;
  readonly filters: readonly Filter[];
  readonly mask: BlockMask;
  readonly tests: Selection['tests'];
  batch: number;
  /** In the driver's list: everything before is still to come. */
  place: number;
  block: number;
  word: number;
  bits: number;
}

export function openCandidates(selection: Selection, scored: readonly Weighted[], below: number): Candidates {
  const driver = smallestOf(selection.must);
  const isList = driver.dense === null;
  const mask = createBlockMask(selection);
  const end = Math.min(below, mask.blocks << BLOCK_SHIFT);
  const top = Math.max(0, end - 1);
  const candidates: Candidates = {
    ids: IDS,
    scores: SCORES,
    driver,
    driverWeight: weightOf(driver, scored),
    lowestLevel: 1,
    filters: isList ? filtersOf(selection, driver, scored) : [],
    mask,
    tests: selection.tests,
    batch: FIRST_BATCH,
    place: isList ? placeOf(driver.entries, driver.count, below) : 0,
    block: isList || end <= 0 ? 0 : (top >>> BLOCK_SHIFT) + 1,
    word: -1,
    bits: 0,
  };
  if (candidates.block > 0) openBlockAt(candidates, top);
  return candidates;
}

function weightOf(posting: Posting, scored: readonly Weighted[]): number {
  let weight = 0;
  for (const one of scored) {
    if (one.posting === posting) weight += one.weight;
  }
  return weight;
}

function filtersOf({ must, mustNot }: Selection, driver: Posting, scored: readonly Weighted[]): Filter[] {
  const filters: Filter[] = [];
  const add = (posting: Posting, wanted: number): void => {
    if (posting === driver && wanted >= 0) return;
    // A word may come twice in a query, and most words that score are also asked for.
    if (wanted >= 0 && filters.some((filter) => filter.posting === posting && filter.wanted >= 0)) return;
    filters.push({ posting, wanted, weight: wanted < 0 ? 0 : weightOf(posting, scored), place: posting.count });
  };
  // Planes before lists: they are quicker to ask.
  for (const posting of [...must].sort((a, b) => Number(a.dense === null) - Number(b.dense === null))) add(posting, 1);
  for (const posting of mustNot) add(posting, -1);
  for (const { posting } of scored) add(posting, 0);
  return filters;
}

/** How many ids stand in `ids` now; 0 only at the end. */
export function nextBatch(candidates: Candidates): number {
  for (;;) {
    const raw = candidates.driver.dense === null ? takeFromList(candidates) : takeFromBlocks(candidates);
    if (raw === 0) return 0;
    if (candidates.batch < BATCH) candidates.batch *= 2;
    let count = raw;
    for (let at = 0; at < candidates.filters.length; at += 1) {
      count = holdAgainst(candidates.filters[at] as Filter, count);
    }
    if (candidates.tests.length > 0) count = holdAgainstTests(candidates.tests, count);
    if (count > 0) return count;
  }
}

function takeFromList(candidates: Candidates): number {
  const { driver, driverWeight, lowestLevel, batch } = candidates;
  const { entries } = driver;
  let { place } = candidates;
  let count = 0;
  while (place > 0 && count < batch) {
    place -= 1;
    const entry = entries[place] as number;
    if ((entry & 7) < lowestLevel) continue;
    IDS[count] = entry >>> 3;
    SCORES[count] = (entry & 7) * driverWeight;
    count += 1;
  }
  candidates.place = place;
  return count;
}

/** Leaves out what is above `highest` in its block. */
function openBlockAt(candidates: Candidates, highest: number): void {
  candidates.block -= 1;
  if (!loadBlock(candidates.mask, candidates.block)) return;
  candidates.word = (highest >>> 5) & (WORDS_PER_BLOCK - 1);
  candidates.bits = (candidates.mask.words[candidates.word] as number) & (-1 >>> (31 - (highest & 31)));
}

function takeFromBlocks(candidates: Candidates): number {
  const { mask, batch } = candidates;
  const { words } = mask;
  let { block, word, bits } = candidates;
  let count = 0;
  // Bits are kept as signed numbers (`| 0`): the engine would make doubles of unsigned ones, at several times the cost.
  while (count < batch) {
    if (bits !== 0) {
      const bit = 31 - Math.clz32(bits);
      IDS[count] = (block << BLOCK_SHIFT) | (word << 5) | bit;
      count += 1;
      bits ^= 1 << bit;
    } else if (word > 0) {
      word -= 1;
      bits = (words[word] as number) | 0;
    } else if (block > 0) {
      block -= 1;
      if (!loadBlock(mask, block)) continue;
      word = WORDS_PER_BLOCK - 1;
      bits = (words[word] as number) | 0;
    } else {
      break;
    }
  }
  candidates.block = block;
  candidates.word = word;
  candidates.bits = bits;
  return count;
}

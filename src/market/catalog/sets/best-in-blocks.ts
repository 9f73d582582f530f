import { highestLevel } from './best-in-list.ts';
import { type BlockMask, createBlockMask, loadBlock } from './block-mask.ts';
import { BLOCK_SHIFT, WORDS_PER_BLOCK } from './posting-dense.ts';
import { offer, type Ranking, worstRank } from './ranking.ts';
import { bound, highestScore, lookAtBlock, narrow, type Part, SCORES, scoreWord } from './score-parts.ts';
import { passes, type Selection, type Weighted } from './selection.ts';

/** Scores that are looked for in one pass: above `floor` (and above what is found on the way), at most `ceiling`. */
interface Pass {
  readonly floor: number;
  readonly ceiling: number;
  readonly below: number;
}

/**
 * For selections whose smallest set has planes. Goes from the newest id down once; as soon as enough candidates are found, what is
 * left has to beat the worst of them, and the levels which that takes are asked of 32 ids at a time. Blocks whose levels cannot
 * add up to it are passed over. Ends early when enough have the highest score there is.
 */
export function bestInBlocks(
  selection: Selection,
  scored: readonly Weighted[],
  after: { score: number; id: number } | null,
  ranking: Ranking,
): void {
  const mask = createBlockMask(selection);
  const parts = scored.map(
    ({ posting, weight }): Part => ({
      posting,
      weight,
      least: selection.must.includes(posting) ? 1 : 0,
      most: highestLevel(posting),
      here: 0,
      low: 0,
      high: 7,
    }),
  );
  const below = mask.blocks << BLOCK_SHIFT;
  const run = (pass: Pass): void => runPass({ mask, parts, tests: selection.tests, ranking }, pass);
  if (after === null) {
    run({ floor: -1, ceiling: highestScore(parts, Number.POSITIVE_INFINITY), below });
    return;
  }
  run({ floor: after.score - 1, ceiling: after.score, below: Math.min(below, after.id) });
  if (ranking.size < ranking.limit) run({ floor: -1, ceiling: highestScore(parts, after.score - 1), below });
}

interface Search {
  readonly mask: BlockMask;
  readonly parts: readonly Part[];
  readonly tests: Selection['tests'];
  readonly ranking: Ranking;
}

function runPass(search: Search, pass: Pass): void {
  const { mask, parts, ranking } = search;
  let threshold = Math.max(pass.floor, worstRank(ranking));
  for (let block = (pass.below - 1) >> BLOCK_SHIFT; block >= 0; block -= 1) {
    if (threshold >= pass.ceiling) return;
    const reachable = lookAtBlock(parts, block);
    if (reachable <= threshold || !loadBlock(mask, block)) continue;
    bound(parts, reachable, threshold, pass.ceiling);
    threshold = searchBlock(search, pass, { block, reachable, threshold });
  }
}

/** Returns the threshold afterwards. */
function searchBlock(
  { mask, parts, tests, ranking }: Search,
  { floor, ceiling, below }: Pass,
  { block, reachable, threshold: before }: { block: number; reachable: number; threshold: number },
): number {
  let threshold = before;
  const base = block * WORDS_PER_BLOCK;
  const top = Math.min(WORDS_PER_BLOCK - 1, ((below - 1) >>> 5) - base);
  for (let word = top; word >= 0; word -= 1) {
    let bits = (mask.words[word] as number) | 0;
    if (bits !== 0) bits = narrow(parts, base + word, bits);
    if (bits !== 0) scoreWord(parts, base + word, bits);
    while (bits !== 0) {
      const bit = 31 - Math.clz32(bits);
      bits ^= 1 << bit;
      const id = ((base + word) << 5) | bit;
      const score = SCORES[bit] as number;
      if (score <= threshold || score > ceiling || id >= below || !passes(tests, id)) continue;
      offer(ranking, score, id);
      const worst = Math.max(floor, worstRank(ranking));
      if (worst === threshold) continue;
      threshold = worst;
      if (threshold >= ceiling) return threshold;
      bound(parts, reachable, threshold, ceiling);
    }
  }
  return threshold;
}

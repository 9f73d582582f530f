import { PageRefused } from './page-refused.ts';

/**
 * How the ids of a walk run. `gapless`: newest first, falling by exactly one to 1, except where a loss has left a gap. `pinned_first`:
 * newest first twice, first the pinned rows. `any`: no rule but that none comes twice.
 */
export type Ids = 'newest_first' | 'oldest_first' | 'gapless' | 'pinned_first' | 'any';

interface Seen {
  seen: Set<number>;
  lastId: number | null;
  rises: number;
  /** Ids below which some may be missing: the market has recovered from a loss, and says so. */
  begun: ReadonlySet<number>;
}

/** Takes the ids of one more page into what was seen, unless they contradict it. */
export function checkRows(ids: readonly number[], rule: Ids, walk: Seen): void {
  for (const id of ids) {
    if (walk.seen.has(id)) throw new PageRefused('repeated_row', `row ${id} came twice`);
    if (walk.lastId !== null) checkOrder(walk.lastId, id, rule, walk);
    walk.seen.add(id);
    walk.lastId = id;
  }
}

function checkOrder(before: number, id: number, rule: Ids, walk: Seen): void {
  const rises = id > before;
  if (rises) walk.rises += 1;
  const allowedRises = { newest_first: 0, gapless: 0, pinned_first: 1, oldest_first: Infinity, any: Infinity }[rule];
  if (walk.rises > allowedRises || (rule === 'oldest_first' && !rises)) {
    throw new PageRefused('out_of_order', `row ${id} came after row ${before}`);
  }
  if (rule === 'gapless' && id !== before - 1 && !walk.begun.has(before)) {
    throw new PageRefused('missing_row', `between rows ${before} and ${id} some are missing`);
  }
}

import { AISLES, type Aisle } from '../../contract/vocabulary.ts';
import type { Cursors } from '../../platform/cursor.ts';
import { createCursors } from '../../platform/cursor.ts';
import type { Queryable } from '../../platform/database/database.ts';
import type { Market } from '../context.ts';
import { presentSummary } from './present-listing.ts';
import { readShelf, type ShelfPlace } from './store.ts';

export interface ShelfRequest {
  aisle: Aisle | undefined;
  sort: 'new';
  limit: number;
  cursor: string | undefined;
}

interface Walk extends ShelfPlace {
  /** How many of the rows of the first total have not been given out yet. */
  left: number;
}

/** One page of the shelves. Given an open transaction, it is of its snapshot. */
export async function readShelfPage(database: Queryable, cursors: Cursors, request: ShelfRequest) {
  const filters = { of: 'shelves', aisle: request.aisle ?? null, sort: request.sort };
  const walk = request.cursor === undefined ? null : toWalk(cursors.open(filters, request.cursor));
  const slice = await readShelf(database, { aisle: request.aisle, limit: request.limit + 1, place: walk });
  const aisles = AISLES.map((name) => ({ name, count: slice.live[name] ?? 0, url: `/api/shelves?aisle=${name}` }));
  const total = aisles.reduce(
    (sum, { name, count }) => sum + ([undefined, name].includes(request.aisle) ? count : 0),
    0,
  );
  // Rows that came into the filter on the way must not make the walk longer than its first page said.
  const left = walk?.left ?? total;
  const rows = slice.rows.slice(0, Math.min(request.limit, left));
  const last = rows.at(-1);
  const hasMore = last !== undefined && slice.rows.length > rows.length && left > rows.length;
  const rest = walk?.othersBelow ?? slice.newestId + 1n;
  const next: Walk | null = hasMore
    ? {
        pins: slice.pins,
        pinnedBelow: last.leads ? last.id : 0n,
        othersBelow: last.leads ? rest : last.id,
        left: left - rows.length,
      }
    : null;
  return {
    aisles,
    listings: rows.map(presentSummary),
    total,
    returned: rows.length,
    page_size: request.limit,
    has_more: hasMore,
    next_cursor: next && cursors.seal(filters, toPosition(next)),
  };
}

/** The pepper is what all processes of a market share and nobody else has; no secret of a merchant has this text's form. */
export function shelfCursors(market: Pick<Market, 'pepper' | 'clock'>): Cursors {
  const use = 'key of the cursors of the shelves';
  const kept = market.pepper.hashes(use).map(({ hash }) => hash);
  return createCursors([market.pepper.hash(use), ...kept], market.clock);
}

function toPosition(walk: Walk): number[] {
  return [Number(walk.pins), Number(walk.pinnedBelow), Number(walk.othersBelow), walk.left];
}

function toWalk(position: number[]): Walk {
  const [pins = 0, pinnedBelow = 0, othersBelow = 0, left = 0] = position;
  return { pins: BigInt(pins), pinnedBelow: BigInt(pinnedBelow), othersBelow: BigInt(othersBelow), left };
}

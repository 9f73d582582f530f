import type { AppealOutcome } from '../../../../contract/appeals.ts';
import { isoTime } from '../../../../platform/clock.ts';
import type { Queryable } from '../../../../platform/database/database.ts';
import { toRecord } from '../../../events/read-events.ts';
import {
  type AppealOfRow,
  type Place,
  type RemovalRow,
  readAppeals,
  readAuthors,
  readCommentRemovals,
  readRemovals,
  readTotals,
} from './store.ts';

export const SHOWS = ['removals', 'appeals', 'comments'] as const;
export type Show = (typeof SHOWS)[number];

export interface ShownAppeal {
  /** Null: the listing was removed again since, and shows the words of the last time only. */
  statement: string | null;
  created_at: string;
  outcome: AppealOutcome | null;
  outcome_reason: string | null;
  decided_at: string | null;
}

export interface ShownRemoval {
  listing_id: number;
  /** What the listing is called in public; null while it is removed. */
  title: string | null;
  merchant: string;
  reason_code: string;
  reason: string | null;
  removed_at: string;
  restored_at: string | null;
  appeal: ShownAppeal | null;
}

export interface ShownComment {
  comment_id: number;
  listing_id: number;
  author: string | null;
  reason_code: string;
  removed_at: string;
}

export interface Moderation {
  totals: Record<Show, number>;
  removals: ShownRemoval[];
  comments: ShownComment[];
  next_before_id: number | null;
}

/** One page of what the maintainer has done, newest first. */
export async function readModeration(
  queryable: Queryable,
  show: Show,
  { limit, beforeId }: Place,
): Promise<Moderation> {
  const { removals, appeals, comments } = await readTotals(queryable);
  const totals = { removals: Number(removals), appeals: Number(appeals), comments: Number(comments) };
  // One more, to know whether there is more.
  const place = { limit: limit + 1, beforeId };
  if (show === 'comments') {
    const rows = await readCommentRemovals(queryable, place);
    const shown = rows.slice(0, limit);
    return {
      totals,
      removals: [],
      comments: await presentComments(queryable, shown),
      ...nextOf(rows, shown, ({ id }) => id),
    };
  }
  const rows = await (show === 'removals' ? readRemovals : readAppeals)(queryable, place);
  const shown = rows.slice(0, limit);
  const next = nextOf(rows, shown, (row) => (show === 'removals' ? row.id : row.appeal_id));
  return { totals, removals: shown.map(presentRemoval), comments: [], ...next };
}

function nextOf<Row>(
  rows: readonly Row[],
  shown: readonly Row[],
  idOf: (row: Row) => bigint | null,
): { next_before_id: number | null } {
  const last = shown.at(-1);
  return { next_before_id: rows.length === shown.length || last === undefined ? null : Number(idOf(last)) };
}

function presentRemoval(row: RemovalRow & AppealOfRow): ShownRemoval {
  return {
    listing_id: Number(row.listing_id),
    title: row.listing_removed_at === null ? row.title : null,
    merchant: row.merchant,
    reason_code: row.reason_code,
    reason: row.reason,
    removed_at: isoTime(row.removed_at),
    restored_at: row.restored_at && isoTime(row.restored_at),
    appeal: presentAppeal(row),
  };
}

function presentAppeal(row: AppealOfRow): ShownAppeal | null {
  if (row.appealed_at === null) return null;
  return {
    statement: row.statement,
    created_at: isoTime(row.appealed_at),
    outcome: row.outcome,
    outcome_reason: row.outcome_reason,
    decided_at: row.decided_at && isoTime(row.decided_at),
  };
}

async function presentComments(
  queryable: Queryable,
  rows: readonly { id: bigint; canonical: Buffer }[],
): Promise<ShownComment[]> {
  if (rows.length === 0) return [];
  const events = rows.map(({ id, canonical }) => toRecord(id, canonical));
  const numberIn = (detail: Record<string, unknown>, name: string): number => Number(detail[name] ?? 0);
  const ids = events.map(({ detail }) => BigInt(numberIn(detail, 'comment_id')));
  const authors = new Map((await readAuthors(queryable, ids)).map(({ id, handle }) => [Number(id), handle]));
  return events.map(({ at, detail }) => ({
    comment_id: numberIn(detail, 'comment_id'),
    listing_id: numberIn(detail, 'listing_id'),
    author: authors.get(numberIn(detail, 'comment_id')) ?? null,
    reason_code: String(detail['reason_code'] ?? ''),
    removed_at: at,
  }));
}

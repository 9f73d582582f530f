import sql, { empty, type Sql } from 'sql-template-tag';
import type { AppealOutcome } from '../../../contract/appeals.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import { toRecord } from '../../events/read-events.ts';

export const MODERATION_VIEWS = ['removals', 'appeals', 'comments'] as const;
export type ModerationView = (typeof MODERATION_VIEWS)[number];

export interface ShownAppeal {
  /** Null if the maintainer removed it, or if the listing was removed again, because only the last removal's texts are shown. */
  statement: string | null;
  created_at: string;
  outcome: AppealOutcome | null;
  outcome_reason: string | null;
  decided_at: string | null;
}

export interface ShownRemoval {
  listing_id: number;
  /** Null while the listing is removed. */
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
  totals: Record<ModerationView, number>;
  removals: ShownRemoval[];
  comments: ShownComment[];
  next_before_id: number | null;
}

/** Reads one page of the maintainer's actions, newest first. */
export async function readModeration(
  queryable: Queryable,
  show: ModerationView,
  { limit, beforeId }: PageStart,
): Promise<Moderation> {
  const totals = await readTotals(queryable);
  // Read one extra row to learn whether another page exists.
  const start = { limit: limit + 1, beforeId };
  if (show === 'comments') {
    const rows = await readCommentRemovals(queryable, start);
    const shown = rows.slice(0, limit);
    const next = nextBeforeId(rows, shown.at(-1)?.id, limit);
    return { totals, removals: [], comments: await presentComments(queryable, shown), next_before_id: next };
  }
  const rows = await (show === 'removals' ? readRemovals : readAppeals)(queryable, start);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const next = nextBeforeId(rows, show === 'removals' ? last?.id : last?.appeal_id, limit);
  return { totals, removals: shown.map(presentRemoval), comments: [], next_before_id: next };
}

/** Returns the last id shown if more rows follow, else null. */
function nextBeforeId(rows: readonly unknown[], lastId: bigint | null | undefined, limit: number): number | null {
  return rows.length > limit && lastId !== undefined ? Number(lastId) : null;
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

async function presentComments(queryable: Queryable, rows: readonly EventRow[]): Promise<ShownComment[]> {
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

interface EventRow {
  id: bigint;
  canonical: Buffer;
}

interface PageStart {
  limit: number;
  beforeId: bigint | null;
}

/** `reason` is null once the listing was restored, as on the listing's page. */
interface RemovalRow {
  id: bigint;
  listing_id: bigint;
  merchant: string;
  title: string;
  listing_removed_at: Date | null;
  reason_code: string;
  reason: string | null;
  removed_at: Date;
  restored_at: Date | null;
}

interface AppealOfRow {
  appeal_id: bigint | null;
  statement: string | null;
  appealed_at: Date | null;
  outcome: AppealOutcome | null;
  outcome_reason: string | null;
  decided_at: Date | null;
}

// Selects only texts that the listing's own page shows: the reason while it is removed, and the appeal against its last removal. Earlier
// removals and their outcomes stay in the log.
const removalColumns = sql`r.id, r.listing_id, m.handle as merchant, l.title, l.removed_at as listing_removed_at, r.reason_code,
    case when r.restored_at is null then r.reason end as reason, r.removed_at, r.restored_at,
    a.id as appeal_id, a.created_at as appealed_at, a.outcome, a.decided_at,
    case when last.is_it and not exists (select from text_removals t where t.appeal_id = a.id) then a.statement end as statement, case when last.is_it then a.outcome_reason end as outcome_reason`;
const removalJoins = sql`join listings l on l.id = r.listing_id join merchants m on m.id = l.merchant_id
    cross join lateral (
      select not exists (select from removals newer where newer.listing_id = r.listing_id and newer.id > r.id) as is_it
    ) last`;

async function readRemovals(queryable: Queryable, start: PageStart): Promise<(RemovalRow & AppealOfRow)[]> {
  return await queryable.rows<RemovalRow & AppealOfRow>(sql`
    select ${removalColumns} from removals r ${removalJoins} left join appeals a on a.removal_id = r.id
    ${olderThan(sql`r.id`, start)} order by r.id desc limit ${start.limit}`);
}

async function readAppeals(queryable: Queryable, start: PageStart): Promise<(RemovalRow & AppealOfRow)[]> {
  return await queryable.rows<RemovalRow & AppealOfRow>(sql`
    select ${removalColumns} from appeals a join removals r on r.id = a.removal_id ${removalJoins}
    ${olderThan(sql`a.id`, start)} order by a.id desc limit ${start.limit}`);
}

function olderThan(id: Sql, { beforeId }: PageStart): Sql {
  return beforeId === null ? empty : sql`where ${id} < ${beforeId}`;
}

// There is no index of removed comments, but the log is indexed by kind and the maintainer acts rarely. Searching the bytes is safe,
// because canonical JSON escapes quotation marks inside values.
const isCommentRemoval = sql`kind = 'moderation' and id is not null
    and position('"action":"remove_comment"'::bytea in canonical) > 0`;

async function readCommentRemovals(queryable: Queryable, { limit, beforeId }: PageStart): Promise<EventRow[]> {
  const older = beforeId === null ? empty : sql`and id < ${beforeId}`;
  return await queryable.rows<EventRow>(sql`
    select id, canonical from events where ${isCommentRemoval} ${older} order by id desc limit ${limit}`);
}

/** Reads only the authors, never the comments' text. */
async function readAuthors(queryable: Queryable, ids: readonly bigint[]): Promise<{ id: bigint; handle: string }[]> {
  return await queryable.rows<{ id: bigint; handle: string }>(sql`
    select c.id, m.handle from comments c join merchants m on m.id = c.merchant_id where c.id = any(${ids})`);
}

async function readTotals(queryable: Queryable): Promise<Moderation['totals']> {
  const rows = await queryable.rows<{ kind: string; rows: bigint }>(
    sql`select kind, sum(rows)::int8 as rows from row_counters group by kind`,
  );
  const countOf = (kind: string): number => Number(rows.find((row) => row.kind === kind)?.rows ?? 0n);
  return { removals: countOf('removals'), appeals: countOf('appeals'), comments: countOf('comment_removals') };
}

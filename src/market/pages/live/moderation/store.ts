import sql, { empty, type Sql } from 'sql-template-tag';
import type { AppealOutcome } from '../../../../contract/appeals.ts';
import type { Queryable } from '../../../../platform/database/database.ts';

export interface Place {
  limit: number;
  beforeId: bigint | null;
}

/** Null where the listing itself shows it no more. */
export interface RemovalRow {
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

export interface AppealOfRow {
  appeal_id: bigint | null;
  statement: string | null;
  appealed_at: Date | null;
  outcome: AppealOutcome | null;
  outcome_reason: string | null;
  decided_at: Date | null;
}

// What the listing's own detail shows is shown here, and no more: the reason while it is removed, the words of an appeal against its
// last removal. That there was another removal, and how it ended, is in the log for good.
const columns = sql`r.id, r.listing_id, m.handle as merchant, l.title, l.removed_at as listing_removed_at, r.reason_code,
    case when r.restored_at is null then r.reason end as reason, r.removed_at, r.restored_at,
    a.id as appeal_id, a.created_at as appealed_at, a.outcome, a.decided_at,
    case when last.is_it then a.statement end as statement, case when last.is_it then a.outcome_reason end as outcome_reason`;
const around = sql`join listings l on l.id = r.listing_id join merchants m on m.id = l.merchant_id
    cross join lateral (
      select not exists (select from removals newer where newer.listing_id = r.listing_id and newer.id > r.id) as is_it
    ) last`;

export async function readRemovals(queryable: Queryable, place: Place): Promise<(RemovalRow & AppealOfRow)[]> {
  return await queryable.rows<RemovalRow & AppealOfRow>(sql`
    select ${columns} from removals r ${around} left join appeals a on a.removal_id = r.id
    ${before(sql`r.id`, place)} order by r.id desc limit ${place.limit}`);
}

export async function readAppeals(queryable: Queryable, place: Place): Promise<(RemovalRow & AppealOfRow)[]> {
  return await queryable.rows<RemovalRow & AppealOfRow>(sql`
    select ${columns} from appeals a join removals r on r.id = a.removal_id ${around}
    ${before(sql`a.id`, place)} order by a.id desc limit ${place.limit}`);
}

function before(id: Sql, { beforeId }: Place): Sql {
  return beforeId === null ? empty : sql`where ${id} < ${beforeId}`;
}

// Comments have no index by which removed ones are found; the log has one by kind, and the maintainer's acts are few. The bytes are
// canonical JSON, in which a quotation mark inside a value is always escaped.
const isCommentRemoval = sql`kind = 'moderation' and id is not null
    and position('"action":"remove_comment"'::bytea in canonical) > 0`;

export async function readCommentRemovals(
  queryable: Queryable,
  { limit, beforeId }: Place,
): Promise<{ id: bigint; canonical: Buffer }[]> {
  const older = beforeId === null ? empty : sql`and id < ${beforeId}`;
  return await queryable.rows<{ id: bigint; canonical: Buffer }>(sql`
    select id, canonical from events where ${isCommentRemoval} ${older} order by id desc limit ${limit}`);
}

/** Who wrote these comments. What was in them is not read at all. */
export async function readAuthors(
  queryable: Queryable,
  ids: readonly bigint[],
): Promise<{ id: bigint; handle: string }[]> {
  return await queryable.rows<{ id: bigint; handle: string }>(sql`
    select c.id, m.handle from comments c join merchants m on m.id = c.merchant_id where c.id = any(${ids})`);
}

export interface Totals {
  removals: bigint;
  appeals: bigint;
  comments: bigint;
}

export async function readTotals(queryable: Queryable): Promise<Totals> {
  const rows = await queryable.rows<{ kind: string; rows: bigint }>(
    sql`select kind, sum(rows)::int8 as rows from row_counters group by kind`,
  );
  const of = (kind: string): bigint => rows.find((row) => row.kind === kind)?.rows ?? 0n;
  return { removals: of('removals'), appeals: of('appeals'), comments: of('comment_removals') };
}

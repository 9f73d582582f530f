import sql from 'sql-template-tag';
import type { AppealOutcome } from '../../contract/appeals.ts';
import type { ListingState } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';

export interface Removal {
  reasonCode: string;
  reason: string;
  removedBy: bigint;
  now: Date;
}

/** Keeps title and preview in the row for a later restore. No response shows them. */
export function markRemoved(tx: Tx, id: bigint, { reasonCode, reason, removedBy, now }: Removal): void {
  tx.later(
    sql`update listings set state = 'removed', removed_at = ${now}, removed_reason = ${reason},
        removed_reason_code = ${reasonCode}
      where id = ${id}`,
  );
  tx.later(
    sql`insert into removals (listing_id, reason_code, reason, removed_by, removed_at)
      values (${id}, ${reasonCode}, ${reason}, ${removedBy}, ${now})`,
  );
}

export function setPinned(tx: Tx, id: bigint, pinned: boolean): void {
  tx.later(sql`update listings set pinned = ${pinned} where id = ${id}`);
}

export interface AppealRow {
  id: bigint;
  listing_id: bigint;
  statement: string;
  /** Whether the maintainer removed the statement. The row keeps it, but no response shows it. */
  statement_removed: boolean;
  created_at: Date;
  outcome: AppealOutcome | null;
  outcome_reason: string | null;
  decided_at: Date | null;
}

const isStatementRemoved = sql`exists (select from text_removals t where t.appeal_id = a.id) as statement_removed`;
const appealColumns = sql`a.id, a.listing_id, a.statement, ${isStatementRemoved}, a.created_at, a.outcome, a.outcome_reason,
    a.decided_at`;

export async function findAppeal(queryable: Queryable, id: bigint): Promise<AppealRow | null> {
  return await queryable.maybe<AppealRow>(sql`select ${appealColumns} from appeals a where a.id = ${id}`);
}

/** Finds the appeal against the current removal. Lock the listing in an earlier statement, or this one could miss a new appeal. */
export async function findAppealInForce(tx: Tx, listingId: bigint): Promise<AppealRow | null> {
  return await tx.maybe<AppealRow>(
    sql`select ${appealColumns} from removals r join appeals a on a.removal_id = r.id
      where r.listing_id = ${listingId} and r.restored_at is null`,
  );
}

/** Inserts an appeal against the current removal. Throws if there is none. */
export async function insertAppeal(tx: Tx, listingId: bigint, statement: string, now: Date): Promise<AppealRow> {
  return await tx.one<AppealRow>(
    sql`insert into appeals as a (removal_id, listing_id, statement, created_at)
      select id, listing_id, ${statement}, ${now} from removals where listing_id = ${listingId} and restored_at is null
      returning ${appealColumns}`,
  );
}

export function markDecided(tx: Tx, id: bigint, decision: { outcome: AppealOutcome; reason: string; now: Date }): void {
  tx.later(
    sql`update appeals set outcome = ${decision.outcome}, outcome_reason = ${decision.reason}, decided_at = ${decision.now}
      where id = ${id}`,
  );
}

/** Clears the removal from the listing. The row in `removals` stays as a record. */
export function markRestored(tx: Tx, listingId: bigint, state: ListingState, now: Date): void {
  tx.later(
    sql`update listings set state = ${state}, removed_at = null, removed_reason = null, removed_reason_code = null
      where id = ${listingId}`,
  );
  tx.later(sql`update removals set restored_at = ${now} where listing_id = ${listingId} and restored_at is null`);
}

export interface NoticeRow extends Omit<AppealRow, 'id' | 'statement' | 'created_at'> {
  reason_code: string;
  reason: string;
  removed_at: Date;
  /** Null if there was no appeal. */
  appeal_id: bigint | null;
  statement: string | null;
  created_at: Date | null;
}

export async function readNotices(queryable: Queryable, merchantId: bigint, limit: number): Promise<NoticeRow[]> {
  return await queryable.rows<NoticeRow>(
    sql`select r.listing_id, r.reason_code, r.reason, r.removed_at, a.id as appeal_id, a.statement, ${isStatementRemoved}, a.created_at, a.outcome,
        a.outcome_reason, a.decided_at
      from listings l join removals r on r.listing_id = l.id and r.restored_at is null left join appeals a on a.removal_id = r.id
      where l.merchant_id = ${merchantId} and l.state = 'removed'
      order by r.id desc limit ${limit}`,
  );
}

export interface TextRemovalRow {
  id: bigint;
  merchant_id: bigint;
  merchant: string;
  reason_code: string;
  removed_at: Date;
}

/** Author of the text, and the appeal that contains it. `appealId` is null for the store line. */
export interface TextToRemove {
  merchantId: bigint;
  appealId: bigint | null;
}

/**
 * Finds the last removal of this text. Run it as a separate statement after any statement that may wait for a lock, so that it sees what
 * was committed during the wait.
 */
export async function findTextRemoval(
  queryable: Queryable,
  { merchantId, appealId }: TextToRemove,
): Promise<TextRemovalRow | null> {
  return await queryable.maybe<TextRemovalRow>(
    sql`select t.id, t.merchant_id, m.handle as merchant, t.reason_code, t.removed_at
      from text_removals t join merchants m on m.id = t.merchant_id
      where t.merchant_id = ${merchantId} and t.appeal_id is not distinct from ${appealId}::int8 order by t.id desc limit 1`,
  );
}

/** Finds the merchant who made the appeal, and its listing. Null if there is no such appeal. */
export async function findAppellant(
  queryable: Queryable,
  appealId: bigint,
): Promise<{ merchantId: bigint; listingId: bigint } | null> {
  return await queryable.maybe(sql`
    select l.merchant_id as "merchantId", a.listing_id as "listingId" from appeals a join listings l on l.id = a.listing_id
    where a.id = ${appealId}`);
}

/** Empties the line and returns whether there was one. If so, the merchant cannot write another line until the transaction ends. */
export async function clearStoreLine(tx: Tx, merchantId: bigint): Promise<boolean> {
  const emptied = await tx.maybe(
    sql`update merchants set store_line = '' where id = ${merchantId} and store_line <> '' returning id`,
  );
  return emptied !== null;
}

/** Returns false if the statement of this appeal was removed before. */
export async function insertTextRemoval(
  tx: Tx,
  { merchantId, appealId }: TextToRemove,
  { reasonCode, reason, removedBy, now }: Removal,
): Promise<boolean> {
  const row = await tx.maybe(
    sql`insert into text_removals (merchant_id, appeal_id, reason_code, reason, removed_by, removed_at)
      values (${merchantId}, ${appealId}, ${reasonCode}, ${reason}, ${removedBy}, ${now})
      on conflict (appeal_id) do nothing returning id`,
  );
  return row !== null;
}

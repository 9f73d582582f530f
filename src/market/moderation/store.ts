import sql from 'sql-template-tag';
import type { AppealOutcome } from '../../contract/appeals.ts';
import type { ListingState } from '../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';

interface Removal {
  reasonCode: string;
  reason: string;
  removedBy: bigint;
  now: Date;
}

/** Title and preview stay in the row for a later restore; no response shows them. */
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
  created_at: Date;
  outcome: AppealOutcome | null;
  outcome_reason: string | null;
  decided_at: Date | null;
}

const appealColumns = sql`a.id, a.listing_id, a.statement, a.created_at, a.outcome, a.outcome_reason, a.decided_at`;

export async function findAppeal(queryable: Queryable, id: bigint): Promise<AppealRow | null> {
  return await queryable.maybe<AppealRow>(sql`select ${appealColumns} from appeals a where a.id = ${id}`);
}

/** Against the removal that is in force. To be asked in a statement of its own, after the listing is locked. */
export async function findAppealInForce(tx: Tx, listingId: bigint): Promise<AppealRow | null> {
  return await tx.maybe<AppealRow>(
    sql`select ${appealColumns} from removals r join appeals a on a.removal_id = r.id
      where r.listing_id = ${listingId} and r.restored_at is null`,
  );
}

/** Against the removal that is in force, which there must be. */
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

/** The listing tells of a removal that is in force and of no other; what was taken back is on record in the removals. */
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
  /** Null: there was no appeal. */
  appeal_id: bigint | null;
  statement: string | null;
  created_at: Date | null;
}

export async function readNotices(queryable: Queryable, merchantId: bigint, limit: number): Promise<NoticeRow[]> {
  return await queryable.rows<NoticeRow>(
    sql`select r.listing_id, r.reason_code, r.reason, r.removed_at, a.id as appeal_id, a.statement, a.created_at, a.outcome,
        a.outcome_reason, a.decided_at
      from listings l join removals r on r.listing_id = l.id and r.restored_at is null left join appeals a on a.removal_id = r.id
      where l.merchant_id = ${merchantId} and l.state = 'removed'
      order by r.id desc limit ${limit}`,
  );
}

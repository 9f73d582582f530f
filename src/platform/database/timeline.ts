import { DatabaseError } from 'pg';
import sql, { type Sql } from 'sql-template-tag';

/**
 * SQL for the timeline of a primary, as eight hexadecimal digits. If the server refuses, `isTimelineRefused` returns true for the error.
 */
export const timelineText = sql`substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)`;

/** Returns null if the server won't reveal its timeline. `ask` must run outside a transaction, because a refusal would abort it. */
export async function readTimeline(ask: (query: Sql) => Promise<{ timeline: string }[]>): Promise<number | null> {
  try {
    const [row] = await ask(sql`select ${timelineText} as timeline`);
    return row === undefined ? null : Number.parseInt(row.timeline, 16);
  } catch (error) {
    if (isTimelineRefused(error)) return null;
    throw error;
  }
}

const REFUSALS = [
  '42501', // insufficient_privilege: an administrator has revoked one of the functions
  '55000', // object_not_in_prerequisite_state: Amazon Aurora, unless its wal_level is logical
  '0A000', // feature_not_supported
];

/** Returns true if the server won't reveal its timeline. */
export function isTimelineRefused(error: unknown): boolean {
  return error instanceof DatabaseError && REFUSALS.includes(error.code ?? '');
}

import sql from 'sql-template-tag';
import type { Queryable } from '../../platform/database/database.ts';

export interface Window {
  name: string;
  subject: string;
  start: Date;
}

/**
 * Counts one more and returns the count, which stops one above the limit. Clears away some windows that are long over on the
 * way, so that the table stays as small as the traffic of the last days without a task of its own.
 */
export async function countInWindow(
  database: Queryable,
  window: Window,
  limit: number,
  sweepBefore: Date,
): Promise<number> {
  const { used } = await database.one<{ used: number }>(sql`
    with swept as (
      delete from rate_counters where ctid = any (array(
        select ctid from rate_counters where window_start < ${sweepBefore}
        order by window_start limit 50 for update skip locked
      ))
    )
    insert into rate_counters as counter (name, subject, window_start, used)
    values (${window.name}, ${window.subject}, ${window.start}, 1)
    on conflict (name, subject, window_start) do update set used = least(counter.used + 1, ${limit + 1}::int4)
    returning used`);
  return used;
}

export async function readWindow(database: Queryable, window: Window): Promise<number> {
  const row = await database.maybe<{ used: number }>(sql`
    select used from rate_counters
    where name = ${window.name} and subject = ${window.subject} and window_start = ${window.start}`);
  return row?.used ?? 0;
}

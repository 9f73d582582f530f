import sql, { empty, type Sql } from 'sql-template-tag';
import type { Queryable } from '../database.ts';

export interface Window {
  name: string;
  subject: string;
  start: Date;
}

/** A query for one value, of one row at most. */
export type ScalarQuery = Sql;

export interface Counting {
  window: Window;
  limit: number;
  /** Windows before this are over for long. */
  sweepBefore: Date;
}

/**
 * Counts one more and returns the count, which stops one above the limit. Clears away some windows that are long over on the
 * way, so that the table stays as small as the traffic of the last days without a task of its own.
 */
export function countInWindow(counting: Counting): Sql {
  return sql`
    with settled as (select null as value), ${countUnlessSettled(counting)}
    select used from counted`;
}

/** What is done in the statement that counts. */
export interface CountedAct {
  /** Queries of the WITH list. `allowed` has one row where the call is within the limit, and none otherwise. */
  steps: Sql;
  /** Columns of the one row that comes back. */
  columns: Sql;
}

/** The same, unless that scalar query (of an int8) has a value: then nothing is counted or done, and the value comes back. */
export function countUnless(settled: ScalarQuery, counting: Counting, act: CountedAct | null): Sql {
  const steps =
    act === null
      ? empty
      : sql`, allowed as materialized (select from counted where used <= ${counting.limit}), ${act.steps}`;
  return sql`
    with settled as materialized (select (${settled}) as value), ${countUnlessSettled(counting)} ${steps}
    select settled.value as settled, (select used from counted) as used ${act === null ? empty : sql`, ${act.columns}`} from settled`;
}

function countUnlessSettled({ window, limit, sweepBefore }: Counting): Sql {
  return sql`
    swept as (
      delete from rate_counters where ctid = any (array(
        select ctid from rate_counters where window_start < ${sweepBefore} and (select value is null from settled)
        order by window_start limit 50 for update skip locked
      ))
    ), counted as (
      insert into rate_counters as counter (name, subject, window_start, used)
      select ${window.name}, ${window.subject}, ${window.start}::timestamptz, 1 from settled where value is null
      on conflict (name, subject, window_start) do update set used = least(counter.used + 1, ${limit + 1}::int4)
      returning used
    )`;
}

export async function readWindow(database: Queryable, window: Window): Promise<number> {
  const row = await database.maybe<{ used: number }>(sql`
    select used from rate_counters
    where name = ${window.name} and subject = ${window.subject} and window_start = ${window.start}`);
  return row?.used ?? 0;
}

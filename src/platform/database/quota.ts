import sql, { empty, type Sql } from 'sql-template-tag';
import { limitExceeded } from '../budget-share.ts';
import type { Clock } from '../clock.ts';
import { networkLevels } from '../http/client-network.ts';
import type { Refusal } from '../refusal.ts';
import type { Database, Queryable } from './database.ts';

export interface Quota {
  /** As in OPENAISLE_LIMITS. */
  name: string;
  /** Whose calls are counted together: a client network, a merchant's id, or one word for everybody. */
  subject: string;
  limit: number;
  windowSeconds: number;
}

/** Windows are fixed: they begin at whole multiples of their length since 1970. */
export function windowAt(nowMs: number, windowSeconds: number): { start: Date; end: Date } {
  const lengthMs = windowSeconds * 1_000;
  const startMs = Math.floor(nowMs / lengthMs) * lengthMs;
  return { start: new Date(startMs), end: new Date(startMs + lengthMs) };
}

interface Window {
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
function countUnless(settled: ScalarQuery, counting: Counting, act: CountedAct | null): Sql {
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

async function readWindow(database: Queryable, window: Window): Promise<number> {
  const row = await database.maybe<{ used: number }>(sql`
    select used from rate_counters
    where name = ${window.name} and subject = ${window.subject} and window_start = ${window.start}`);
  return row?.used ?? 0;
}

interface QuotaUse {
  limit: number;
  /** At most the limit, though refused calls count too. */
  used: number;
  resetsAt: Date;
}

/** How much of a quota is used, without using any. */
export async function readQuota(database: Queryable, nowMs: number, quota: Quota): Promise<QuotaUse> {
  const { name, subject, limit, windowSeconds } = quota;
  const { start, end } = windowAt(nowMs, windowSeconds);
  const used = await readWindow(database, { name, subject, start });
  return { limit, used: Math.min(used, limit), resetsAt: end };
}

/** Longer than any window. */
const KEPT_MS = 2 * 86_400_000;

interface QuotaContext {
  database: Database;
  clock: Clock;
}

/**
 * Counts this call, in a transaction of its own, and refuses it beyond the limit. To be called before the check it guards:
 * refused calls count too, and nothing that fails later takes the count back.
 */
export async function takeQuota(context: QuotaContext, quota: Quota): Promise<void> {
  const now = context.clock.now();
  const { used } = await context.database.one<{ used: number }>(countInWindow(countingOf(quota, now)));
  if (used > quota.limit) throw refusalOf(quota, now);
}

/**
 * The same, unless that scalar query (of an int8) has a value: then this call counts nothing, is never refused, and the value is the
 * answer. One statement.
 */
export async function takeQuotaUnless(
  context: QuotaContext,
  quota: Quota,
  settled: ScalarQuery,
): Promise<bigint | null> {
  return (await takeQuotaAndDo<object>(context, quota, settled, null)).settled;
}

/**
 * The same together with an act that context no other statement, and what that says. Only an error of the database, which undoes the act,
 * takes the count back.
 */
export async function takeQuotaAndDo<Done extends object>(
  { database, clock }: QuotaContext,
  quota: Quota,
  settled: ScalarQuery,
  act: CountedAct | null,
): Promise<{ settled: bigint } | (Done & { settled: null })> {
  const now = clock.now();
  const found = await database.one<{ used: number | null } & ({ settled: bigint } | (Done & { settled: null }))>(
    countUnless(settled, countingOf(quota, now), act),
  );
  if (found.settled === null && (found.used ?? 0) > quota.limit) throw refusalOf(quota, now);
  return found;
}

/** The same, but what was counted in this window already, under the name and subject of `seen`, is not counted again. */
export async function takeQuotaOnce(
  context: QuotaContext,
  quota: Quota,
  seen: Pick<Quota, 'name' | 'subject'>,
): Promise<void> {
  const now = context.clock.now();
  const mark = countingOf({ ...quota, ...seen, limit: 1 }, now);
  // Under a lock, so that fifty at once with the same thing count once, and a refused one leaves no mark to slip in by.
  const isWithin = await context.database.transaction(async (tx) => {
    const [, marked] = await Promise.all([
      tx.lock(`quota:${quota.name}:${quota.subject}`),
      readWindow(tx, mark.window),
    ]);
    if (marked > 0) return true;
    const { used } = await tx.one<{ used: number }>(countInWindow(countingOf(quota, now)));
    if (used > quota.limit) return false;
    tx.later(countInWindow(mark));
    return true;
  });
  if (!isWithin) throw refusalOf(quota, now);
}

function countingOf({ name, subject, limit, windowSeconds }: Quota, now: number): Counting {
  const window = { name, subject, start: windowAt(now, windowSeconds).start };
  return { window, limit, sweepBefore: new Date(now - KEPT_MS) };
}

function refusalOf({ name, limit, windowSeconds }: Quota, now: number): Refusal {
  const { end } = windowAt(now, windowSeconds);
  return limitExceeded({ name, limit, windowSeconds, retryAfterMs: end.getTime() - now });
}

/** Counts are 32 bits. */
const MOST = 1_000_000_000;

/** What one client network may do in a window, and how many such networks' worth the site around it may. */
interface ClientQuota extends Omit<Quota, 'subject'> {
  clientNetwork: string;
  networksPerSite: number;
}

/** Counts this call of that network and of its site, and refuses it beyond either. What the network has not left uses nothing of the site's. */
export async function takeClientQuota(
  context: { database: Database; clock: Clock },
  { clientNetwork, networksPerSite, ...quota }: ClientQuota,
): Promise<void> {
  await takeQuota(context, { ...quota, subject: clientNetwork });
  const { site } = networkLevels(clientNetwork);
  if (site === clientNetwork) return;
  const limit = Math.min(MOST, quota.limit * networksPerSite);
  await takeQuota(context, { ...quota, subject: site, limit });
}

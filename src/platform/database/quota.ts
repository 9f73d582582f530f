import sql, { empty, type Sql } from 'sql-template-tag';
import { limitExceeded } from '../budget-share.ts';
import type { Clock } from '../clock.ts';
import { networkLevels } from '../http/client-network.ts';
import type { Refusal } from '../refusal.ts';
import type { Database, Queryable } from './database.ts';

export interface Quota {
  /** A limit name from OPENAISLE_LIMITS or CITY_LIMITS. */
  name: string;
  /** Calls with the same subject are counted together: a client network, a merchant's id, or one word for everybody. */
  subject: string;
  limit: number;
  windowSeconds: number;
}

/** Returns the window that contains a time. Windows begin at whole multiples of their length since 1970. */
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

/** A query that returns one value in at most one row. */
export type ScalarQuery = Sql;

export interface Counting {
  window: Window;
  limit: number;
  /** Counters of windows that began before this time are deleted. */
  sweepBefore: Date;
}

/**
 * Builds a query that counts one call and returns the new count, at most the limit plus one. It also deletes a few old windows, which
 * replaces a cleanup job.
 */
export function countInWindow(counting: Counting): Sql {
  return sql`
    with existing as (select null as value), ${countUnlessExisting(counting)}
    select used from counted`;
}

export interface CountedAct {
  /** Entries of the WITH list. `allowed` has one row if the call is within the limit, else none. */
  steps: Sql;
  columns: Sql;
}

/**
 * Counts like `countInWindow`, and runs `act` within the limit. If the query `existing` returns an int8, does neither and returns the int8.
 */
function countUnless(existing: ScalarQuery, counting: Counting, act: CountedAct | null): Sql {
  const steps =
    act === null
      ? empty
      : sql`, allowed as materialized (select from counted where used <= ${counting.limit}), ${act.steps}`;
  return sql`
    with existing as materialized (select (${existing}) as value), ${countUnlessExisting(counting)} ${steps}
    select existing.value as existing, (select used from counted) as used ${act === null ? empty : sql`, ${act.columns}`} from existing`;
}

function countUnlessExisting({ window, limit, sweepBefore }: Counting): Sql {
  return sql`
    swept as (
      delete from rate_counters where ctid = any (array(
        select ctid from rate_counters where window_start < ${sweepBefore} and (select value is null from existing)
        order by window_start limit 50 for update skip locked
      ))
    ), counted as (
      insert into rate_counters as counter (name, subject, window_start, used)
      select ${window.name}, ${window.subject}, ${window.start}::timestamptz, 1 from existing where value is null
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
  /** Capped at the limit, although refused calls are counted too. */
  used: number;
  resetsAt: Date;
}

export async function readQuota(database: Queryable, nowMs: number, quota: Quota): Promise<QuotaUse> {
  const { name, subject, limit, windowSeconds } = quota;
  const { start, end } = windowAt(nowMs, windowSeconds);
  const used = await readWindow(database, { name, subject, start });
  return { limit, used: Math.min(used, limit), resetsAt: end };
}

/** Must be longer than any window. */
export const RETENTION_MS = 2 * 86_400_000;

interface QuotaContext {
  database: Database;
  clock: Clock;
}

/**
 * Counts this call in its own transaction, and throws beyond the limit. Call it before the check that it protects, because refused calls
 * count too and a later failure does not undo the count.
 */
export async function takeQuota(context: QuotaContext, quota: Quota): Promise<void> {
  const now = context.clock.now();
  const { used } = await context.database.one<{ used: number }>(countInWindow(countingOf(quota, now)));
  if (used > quota.limit) throw refusalOf(quota, now);
}

/** Like `takeQuota`. But if the query `existing` returns an int8, neither counts nor refuses, and returns the int8. Runs one statement. */
export async function takeQuotaUnless(
  context: QuotaContext,
  quota: Quota,
  existing: ScalarQuery,
): Promise<bigint | null> {
  return (await takeQuotaAndDo<object>(context, quota, existing, null)).existing;
}

/** Like `takeQuotaUnless`, but also runs `act` in the same statement. Only a database error undoes the count, together with the act. */
export async function takeQuotaAndDo<Done extends object>(
  { database, clock }: QuotaContext,
  quota: Quota,
  existing: ScalarQuery,
  act: CountedAct | null,
): Promise<{ existing: bigint } | (Done & { existing: null })> {
  const now = clock.now();
  const row = await database.one<{ used: number | null } & ({ existing: bigint } | (Done & { existing: null }))>(
    countUnless(existing, countingOf(quota, now), act),
  );
  if (row.existing === null && (row.used ?? 0) > quota.limit) throw refusalOf(quota, now);
  return row;
}

/** Like `takeQuota`, but does not count again if `seen` was counted in this window before. */
export async function takeQuotaOnce(
  context: QuotaContext,
  quota: Quota,
  seen: Pick<Quota, 'name' | 'subject'>,
): Promise<void> {
  const now = context.clock.now();
  const mark = countingOf({ ...quota, ...seen, limit: 1 }, now);
  // The lock makes fifty parallel calls for the same thing count once. A refused call must leave no mark, or the next call would pass.
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
  return { window, limit, sweepBefore: new Date(now - RETENTION_MS) };
}

function refusalOf({ name, limit, windowSeconds }: Quota, now: number): Refusal {
  const { end } = windowAt(now, windowSeconds);
  return limitExceeded({ name, limit, windowSeconds, retryAfterMs: end.getTime() - now });
}

/** Below the maximum of the int4 column. */
const MAX_COUNT = 1_000_000_000;

/** A quota that is used in small units, each of them one of `perUnit` parts of a unit of the limit. */
export interface PartedQuota extends Quota {
  perUnit: number;
}

export interface PartsReserved {
  /** Call once, with the parts actually used. */
  adjustTo(parts: number): Promise<void>;
}

/** Reserves several parts at once. Refuses once the limit is reached, so the last reservation may exceed it. Refused calls count nothing. */
export async function reserveParts(
  { database, clock }: QuotaContext,
  quota: PartedQuota,
  parts: number,
): Promise<PartsReserved> {
  const now = clock.now();
  const { window, sweepBefore } = countingOf(quota, now);
  const limit = Math.min(MAX_COUNT, quota.limit * quota.perUnit);
  const reserved = Math.min(MAX_COUNT, parts);
  const isWithin = limit > 0 && (await database.run(addParts({ window, limit, sweepBefore }, reserved))) === 1;
  if (!isWithin) throw refusalOf(quota, now);
  return {
    adjustTo: async (used) => {
      if (used === parts) return;
      await database.run(
        sql`update rate_counters set used = greatest(0, used - ${reserved - Math.min(MAX_COUNT, used)}::int4)
          where name = ${window.name} and subject = ${window.subject} and window_start = ${window.start}`,
      );
    },
  };
}

/** Builds the statement that adds parts to a counter below its limit. It writes one row, or none. */
function addParts({ window, limit, sweepBefore }: Counting, parts: number): Sql {
  return sql`
    with swept as (
      delete from rate_counters where ctid = any (array(
        select ctid from rate_counters where window_start < ${sweepBefore}
        order by window_start limit 50 for update skip locked
      ))
    )
    insert into rate_counters as counter (name, subject, window_start, used)
    values (${window.name}, ${window.subject}, ${window.start}::timestamptz, ${parts}::int4)
    on conflict (name, subject, window_start) do update set used = counter.used + excluded.used where counter.used < ${limit}::int4`;
}

/** Limit of one client network. The site around it may use `networksPerSite` times as much. */
interface ClientQuota extends Omit<Quota, 'subject'> {
  clientNetwork: string;
  networksPerSite: number;
}

/** Counts this call for its network and its site. A call that exceeds the network's limit is not counted for the site. */
export async function takeClientQuota(
  context: { database: Database; clock: Clock },
  { clientNetwork, networksPerSite, ...quota }: ClientQuota,
): Promise<void> {
  await takeQuota(context, { ...quota, subject: clientNetwork });
  const { site } = networkLevels(clientNetwork);
  if (site === clientNetwork) return;
  const limit = Math.min(MAX_COUNT, quota.limit * networksPerSite);
  await takeQuota(context, { ...quota, subject: site, limit });
}

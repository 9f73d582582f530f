import sql from 'sql-template-tag';
import { judgeShare, limitExceeded, needsNewcomerPart, type Share, type ShareUse, slotMs } from '../budget-share.ts';
import type { Clock } from '../clock.ts';
import { networkLevels } from '../http/client-network.ts';
import { type Random, randomFraction } from '../random.ts';
import type { Database, Queryable } from './database.ts';
import { countInWindow, RETENTION_MS, windowAt } from './quota.ts';

/** Counters stop here, far above any limit. */
const MAX_COUNT = 1_000_000_000;

interface SharedQuotaContext {
  database: Database;
  clock: Clock;
  random: Random;
}

/** A limit shared by all processes. A part is reserved for networks that have used little so far. */
export interface SharedQuota {
  name: string;
  limit: number;
  windowSeconds: number;
  clientNetwork: string;
}

/** Takes one unit, or throws. Refused calls use nothing, or strangers could use up the quota just by asking. */
export async function takeSharedQuota(context: SharedQuotaContext, quota: SharedQuota): Promise<void> {
  const { name, limit, windowSeconds, clientNetwork } = quota;
  const { site, supernet } = networkLevels(clientNetwork);
  const share: Share = { limit, windowMs: windowSeconds * 1_000, newcomerUnits: 1 };
  const names: SharedNames = { name, network: clientNetwork, site, supernet };
  const retryAfterMs = await context.database.transaction(async (tx) => {
    await tx.lock(`quota:${name}:all`);
    const now = context.clock.now();
    const start = windowAt(now, windowSeconds).start;
    const request = { units: 1, elapsedMs: now - start.getTime() };
    const slots = slotsAt(share, start, request.elapsedMs);
    const use = await readShareUse(tx, names, { start, since: slots.before });
    const count = (of: string, subject: string, at: Date): void =>
      tx.later(
        countInWindow({
          window: { name: of, subject, start: at },
          limit: MAX_COUNT,
          sweepBefore: new Date(now - RETENTION_MS),
        }),
      );
    const isAsking = needsNewcomerPart(share, use, request);
    if (isAsking) count(`${name}:asked`, supernet, slots.current);
    const verdict = judgeShare(share, isAsking ? withThisRequest(use) : use, request, () =>
      randomFraction(context.random),
    );
    if (verdict.part === null) return verdict.retryAfterMs;
    count(name, `network ${clientNetwork}`, start);
    count(name, verdict.part === 'open' ? 'all' : 'kept', start);
    if (verdict.part === 'kept') countKept(count, names, start);
    return null;
  });
  if (retryAfterMs !== null) throw limitExceeded({ name, limit, windowSeconds, retryAfterMs });
}

function countKept(
  count: (name: string, subject: string, at: Date) => void,
  { name, site, supernet }: SharedNames,
  start: Date,
): void {
  count(name, `kept site ${site}`, start);
  count(name, `kept region ${supernet}`, start);
}

function withThisRequest(use: ShareUse): ShareUse {
  return {
    ...use,
    supernetsAsking: use.supernetsAsking + (use.asksOfSupernet === 0 ? 1 : 0),
    asksOfSupernet: use.asksOfSupernet + 1,
  };
}

function slotsAt(share: Share, start: Date, elapsedMs: number): { current: Date; before: Date } {
  const slot = slotMs(share);
  const currentMs = start.getTime() + Math.floor(elapsedMs / slot) * slot;
  return { current: new Date(currentMs), before: new Date(currentMs - slot) };
}

/** Names under which a caller is counted. */
interface SharedNames {
  name: string;
  network: string;
  site: string;
  supernet: string;
}

/** Reads the usage of the window that began at `start`, and who has asked for the reserved part since `since`. */
async function readShareUse(
  queryable: Queryable,
  { name, network, site, supernet }: SharedNames,
  { start, since }: { start: Date; since: Date },
): Promise<ShareUse> {
  const used = (subject: string) => sql`coalesce((select used from rate_counters
    where name = ${name} and subject = ${subject} and window_start = ${start}), 0)`;
  const requests = sql`from rate_counters where name = ${`${name}:asked`} and window_start >= ${since}`;
  const row = await queryable.one<Record<keyof ShareUse, number>>(sql`
    select ${used('all')} as "open", ${used('kept')} as "kept", ${used(`network ${network}`)} as "network",
      ${used(`kept site ${site}`)} as "siteKept", ${used(`kept region ${supernet}`)} as "supernetKept",
      (select count(distinct subject)::int4 ${requests}) as "supernetsAsking",
      (select coalesce(max(used), 0) ${requests} and subject = ${supernet}) as "asksOfSupernet"`);
  return { ...row };
}

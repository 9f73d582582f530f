import type { Queryable } from '../database.ts';
import { readWindow } from './count-in-window.ts';
import { type Quota, windowAt } from './quota.ts';

export interface QuotaStanding {
  limit: number;
  /** At most the limit, though refused calls count too. */
  used: number;
  resetsAt: Date;
}

/** How much of a quota is used, without using any. */
export async function readQuota(database: Queryable, nowMs: number, quota: Quota): Promise<QuotaStanding> {
  const { name, subject, limit, windowSeconds } = quota;
  const { start, end } = windowAt(nowMs, windowSeconds);
  const used = await readWindow(database, { name, subject, start });
  return { limit, used: Math.min(used, limit), resetsAt: end };
}

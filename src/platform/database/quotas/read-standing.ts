import sql from 'sql-template-tag';
import type { Standing } from '../../budgets/share.ts';
import type { Queryable } from '../database.ts';

/** Under which a shared quota and who asks are counted. */
export interface SharedNames {
  name: string;
  network: string;
  site: string;
  region: string;
}

/** How much of a shared quota is used in the window that began then, and who has asked for its kept part since `since`. */
export async function readStanding(
  queryable: Queryable,
  { name, network, site, region }: SharedNames,
  { start, since }: { start: Date; since: Date },
): Promise<Standing> {
  const used = (subject: string) => sql`coalesce((select used from rate_counters
    where name = ${name} and subject = ${subject} and window_start = ${start}), 0)`;
  const asked = sql`from rate_counters where name = ${`${name}:asked`} and window_start >= ${since}`;
  const row = await queryable.one<Record<keyof Standing, number>>(sql`
    select ${used('all')} as "open", ${used('kept')} as "kept", ${used(`network ${network}`)} as "network",
      ${used(`kept site ${site}`)} as "siteKept", ${used(`kept region ${region}`)} as "regionKept",
      (select count(distinct subject)::int4 ${asked}) as "regionsAsking",
      (select coalesce(max(used), 0) ${asked} and subject = ${region}) as "asksOfRegion"`);
  return { ...row };
}

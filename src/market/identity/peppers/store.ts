import sql from 'sql-template-tag';
import type { Queryable } from '../../../platform/database/database.ts';

export interface PepperUse {
  version: number;
  keys: number;
  codes: number;
  /** Stages and pairing codes that may still be used; they last for minutes. */
  open: number;
}

/** What hangs on each pepper: keys in force, codes in force or waiting, and what is open for a few minutes. */
export async function countPepperUses(database: Queryable, at: Date): Promise<PepperUse[]> {
  return database.rows<PepperUse>(sql`
    with in_force as (
      select merchant_id, max(set_number) as set_number from recovery_sets
      where ended_at is null and (valid_from <= ${at} or valid_from = created_at) group by merchant_id
    ), uses as (
      select pepper_version, 1 as keys, 0 as codes, 0 as open from merchant_keys where revoked_at is null
      union all
      select c.pepper_version, 0, 1, 0 from recovery_codes c
        join recovery_sets s using (merchant_id, set_number) left join in_force f on f.merchant_id = s.merchant_id
        where s.ended_at is null and s.set_number >= coalesce(f.set_number, 0)
      union all
      select pepper_version, 0, 0, 1 from identity_stages where closed_at is null and expires_at > ${at}
      union all
      select pepper_version, 0, 0, 1 from pairing_codes where ended_at is null and expires_at > ${at}
    )
    select pepper_version as version, sum(keys)::int4 as keys, sum(codes)::int4 as codes, sum(open)::int4 as open
    from uses group by pepper_version order by pepper_version desc`);
}

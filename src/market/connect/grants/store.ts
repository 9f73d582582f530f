import sql from 'sql-template-tag';
import type { TokenScope } from '../../../contract/token-scopes.ts';
import type { Queryable } from '../../../platform/database/database.ts';
import type { Proof } from '../interaction.ts';

export interface GrantRow {
  id: string;
  client_name: string | null;
  client_host: string | null;
  redirect_host: string;
  scopes: TokenScope[];
  proved_by: Proof['provedBy'];
  granted_at: Date;
  proven_at: Date | null;
  revoked_at: Date | null;
}

const COLUMNS = sql`id, client_name, client_host, redirect_host, scopes, proved_by, granted_at, proven_at, revoked_at`;

/** Those in force before all others, the newest first. */
export async function readGrants(database: Queryable, merchantId: bigint, limit: number): Promise<GrantRow[]> {
  return await database.rows<GrantRow>(sql`
    select ${COLUMNS} from hosted_grants where merchant_id = ${merchantId}
    order by revoked_at is not null, granted_at desc, id limit ${limit}`);
}

/** The grant as it is then; null: this merchant has none of that id. The first time counts. */
export async function endGrant(
  database: Queryable,
  { id, merchantId, at }: { id: string; merchantId: bigint; at: Date },
): Promise<GrantRow | null> {
  return await database.maybe<GrantRow>(sql`
    update hosted_grants set revoked_at = coalesce(revoked_at, ${at}::timestamptz)
    where id = ${id}::uuid and merchant_id = ${merchantId} returning ${COLUMNS}`);
}

import sql from 'sql-template-tag';
import type { TokenScope } from '../../contract/connections.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import type { SignInProof } from './interaction.ts';

/** A record of the authorization server. It contains no usable token or code; see `withoutId` in create-adapter.ts. */
interface Artifact {
  model: string;
  idHash: Buffer;
  grantId: string | null;
  payload: Readonly<Record<string, unknown>>;
  createdAt: Date;
  expiresAt: Date | null;
}

export interface StoredArtifact {
  payload: Record<string, unknown>;
  consumed_at: Date | null;
}

/** Inserts or replaces a record. A replacement keeps consumed_at, so a used record stays used. */
export async function saveArtifact(database: Queryable, artifact: Artifact): Promise<void> {
  const { model, idHash, grantId, createdAt, expiresAt } = artifact;
  const payload = JSON.stringify(artifact.payload);
  await database.run(sql`
    insert into oauth_artifacts (model, id_hash, grant_id, payload, created_at, expires_at)
    values (${model}, ${idHash}, ${grantId}, ${payload}::jsonb, ${createdAt}, ${expiresAt})
    on conflict (model, id_hash) do update
      set grant_id = excluded.grant_id, payload = excluded.payload, expires_at = excluded.expires_at`);
}

export async function findArtifact(
  database: Queryable,
  model: string,
  idHash: Buffer,
  now: Date,
): Promise<StoredArtifact | null> {
  return await database.maybe<StoredArtifact>(sql`
    select payload, consumed_at from oauth_artifacts
    where model = ${model} and id_hash = ${idHash} and (expires_at is null or expires_at > ${now})`);
}

/** Finds a grant that has neither expired nor been revoked. */
export async function findOpenGrant(
  database: Queryable,
  grant: { idHash: Buffer; grantId: string },
  now: Date,
): Promise<StoredArtifact | null> {
  return await database.maybe<StoredArtifact>(sql`
    select payload, consumed_at from oauth_artifacts
    where model = 'Grant' and id_hash = ${grant.idHash} and (expires_at is null or expires_at > ${now})
      and exists (select from hosted_grants where oauth_grant = ${grant.grantId} and revoked_at is null)`);
}

/** Marks a record as used. Of concurrent calls in any process, only one gets `isFirst`; the others get the record's grant. */
export async function consumeArtifact(
  database: Queryable,
  model: string,
  idHash: Buffer,
  at: Date,
): Promise<{ isFirst: boolean; grantId: string | null }> {
  const first = await database.run(sql`
    update oauth_artifacts set consumed_at = ${at}
    where model = ${model} and id_hash = ${idHash} and consumed_at is null`);
  if (first > 0) return { isFirst: true, grantId: null };
  const row = await database.maybe<{ grant_id: string | null }>(
    sql`select grant_id from oauth_artifacts where model = ${model} and id_hash = ${idHash}`,
  );
  return { isFirst: false, grantId: row?.grant_id ?? null };
}

export async function deleteArtifact(database: Queryable, model: string, idHash: Buffer): Promise<void> {
  await database.run(sql`delete from oauth_artifacts where model = ${model} and id_hash = ${idHash}`);
}

export async function deleteOfGrant(database: Queryable, model: string, grantId: string): Promise<void> {
  await database.run(sql`delete from oauth_artifacts where model = ${model} and grant_id = ${grantId}`);
}

/** Deletes a grant with all its records, and marks it as revoked for its merchant. */
export async function endGrant(
  database: Queryable,
  grant: { idHash: Buffer; grantId: string },
  at: Date,
): Promise<void> {
  await database.run(sql`
    with ended as (
      update hosted_grants set revoked_at = ${at} where oauth_grant = ${grant.grantId} and revoked_at is null
    )
    delete from oauth_artifacts where grant_id = ${grant.grantId} or (model = 'Grant' and id_hash = ${grant.idHash})`);
}

/** Deletes a batch of expired records. Runs with each write. */
export async function sweepArtifacts(database: Queryable, expiredBefore: Date): Promise<void> {
  await database.run(sql`
    delete from oauth_artifacts where ctid = any (array(
      select ctid from oauth_artifacts where expires_at < ${expiredBefore}
      order by expires_at limit 20 for update skip locked
    ))`);
}

/** Extends a client's lifetime. `unlessAfter` limits this to one write per day and client. */
export async function extendClient(database: Queryable, idHash: Buffer, until: Date, unlessAfter: Date): Promise<void> {
  await database.run(sql`
    update oauth_artifacts set expires_at = ${until}
    where model = 'Client' and id_hash = ${idHash} and expires_at < ${unlessAfter}`);
}

interface NewGrant {
  id: string;
  merchantId: bigint;
  grantedAt: Date;
  oauthGrant: string;
  clientId: string;
  clientName: string | null;
  clientHost: string | null;
  redirectHost: string;
  scopes: readonly TokenScope[];
  provedBy: 'key' | 'pairing_code';
}

export async function insertGrant(tx: Tx, grant: NewGrant): Promise<void> {
  await tx.run(sql`
    insert into hosted_grants (id, merchant_id, granted_at, oauth_grant, client_id, client_name, client_host, redirect_host, scopes,
      proved_by)
    values (${grant.id}, ${grant.merchantId}, ${grant.grantedAt}, ${grant.oauthGrant}, ${grant.clientId}, ${grant.clientName},
      ${grant.clientHost}, ${grant.redirectHost}, ${[...grant.scopes]}, ${grant.provedBy})`);
}

interface HostedCallerRow {
  grant_id: string;
  client_host: string | null;
  granted: string[];
  /** Scopes of the token; they may be fewer than the grant's. */
  scope: string | null;
  aud: string | null;
  is_grant_proven: boolean;
  is_host_proven: boolean;
  merchant_id: bigint;
  handle: string;
  key_id: bigint;
}

/** Finds the merchant of an access token. Null if the token has expired, its grant was revoked, or the merchant has no valid key. */
export async function findHostedCaller(
  database: Queryable,
  idHash: Buffer,
  now: Date,
): Promise<HostedCallerRow | null> {
  return await database.maybe<HostedCallerRow>(sql`
    select g.id as grant_id, g.client_host, g.scopes as granted, token.payload ->> 'scope' as scope, token.payload ->> 'aud' as aud,
      g.proven_at is not null as is_grant_proven,
      exists (select from hosted_proven_hosts where host = g.client_host) as is_host_proven,
      merchants.id as merchant_id, merchants.handle, merchant_keys.id as key_id
    from oauth_artifacts token
    join hosted_grants g on g.oauth_grant = token.grant_id and g.revoked_at is null
    join merchants on merchants.id = g.merchant_id
    join merchant_keys on merchant_keys.merchant_id = g.merchant_id and merchant_keys.revoked_at is null
    where token.model = 'AccessToken' and token.id_hash = ${idHash} and token.expires_at > ${now}`);
}

export async function markGrantProven(database: Queryable, id: string, at: Date): Promise<void> {
  await database.run(sql`
    update hosted_grants set proven_at = ${at} where id = ${id} and proven_at is null and revoked_at is null`);
}

export async function markHostProven(database: Queryable, host: string, at: Date): Promise<void> {
  await database.run(sql`
    insert into hosted_proven_hosts (host, proven_at) values (${host}, ${at}) on conflict (host) do nothing`);
}

export interface GrantRow {
  id: string;
  client_name: string | null;
  client_host: string | null;
  redirect_host: string;
  scopes: TokenScope[];
  proved_by: SignInProof['provedBy'];
  granted_at: Date;
  proven_at: Date | null;
  revoked_at: Date | null;
}

const GRANT_COLUMNS = sql`id, client_name, client_host, redirect_host, scopes, proved_by, granted_at, proven_at, revoked_at`;

/** Lists valid grants before revoked ones. Both groups are in order of time, newest first. */
export async function readGrants(database: Queryable, merchantId: bigint, limit: number): Promise<GrantRow[]> {
  return await database.rows<GrantRow>(sql`
    select ${GRANT_COLUMNS} from hosted_grants where merchant_id = ${merchantId}
    order by revoked_at is not null, granted_at desc, id limit ${limit}`);
}

/** Revokes a grant and returns it. Null if the merchant has no such grant. A second call keeps the time of the first. */
export async function revokeGrantOf(
  database: Queryable,
  { id, merchantId, at }: { id: string; merchantId: bigint; at: Date },
): Promise<GrantRow | null> {
  return await database.maybe<GrantRow>(sql`
    update hosted_grants set revoked_at = coalesce(revoked_at, ${at}::timestamptz)
    where id = ${id}::uuid and merchant_id = ${merchantId} returning ${GRANT_COLUMNS}`);
}

-- The hosted connector (W11): what the authorization server remembers, and what clients act for which merchant.

-- Codes, tokens, grants, clients and steps under way. Who reads this table holds none of them: an id is SHA-256 of what the client has.
create table oauth_artifacts (
  model text not null check (model in ('AccessToken', 'AuthorizationCode', 'RefreshToken', 'RegistrationAccessToken', 'Client',
    'Grant', 'Interaction', 'Session', 'ReplayDetection')),
  id_hash bytea not null check (length(id_hash) = 32),
  -- The grant that a code or token belongs to: all of them end with it.
  grant_id text,
  uid_hash bytea check (length(uid_hash) = 32),
  payload jsonb not null,
  created_at timestamptz not null,
  expires_at timestamptz,
  consumed_at timestamptz,
  primary key (model, id_hash)
);
create index oauth_artifacts_of_grant on oauth_artifacts (grant_id) where grant_id is not null;
create index oauth_artifacts_by_uid on oauth_artifacts (model, uid_hash) where uid_hash is not null;
create index oauth_artifacts_old on oauth_artifacts (expires_at) where expires_at is not null;

-- Whose store an attempt to connect is about, once somebody has shown that. One proof for each attempt, and few wrong ones.
create table connect_proofs (
  interaction_hash bytea primary key check (length(interaction_hash) = 32),
  begun_at timestamptz not null,
  wrong_tries int not null default 0 check (wrong_tries >= 0),
  merchant_id bigint references merchants,
  -- The key in force when it was shown: a proof is worth nothing after it was replaced.
  key_id bigint,
  proved_by text check (proved_by in ('key', 'pairing_code')),
  proved_at timestamptz,
  decided_at timestamptz,
  decided_as text check (decided_as in ('allowed', 'canceled')),
  foreign key (key_id, merchant_id) references merchant_keys (id, merchant_id),
  check ((merchant_id is null) = (proved_at is null) and (merchant_id is null) = (proved_by is null) and (merchant_id is null) = (key_id is null)),
  check ((decided_at is null) = (decided_as is null)),
  check (decided_as is distinct from 'allowed' or merchant_id is not null)
);
create index connect_proofs_old on connect_proofs (begun_at);

-- Nothing has written here before this version.
alter table hosted_grants
  -- The authorization server's own name of the grant. It opens nothing.
  add column oauth_grant text not null unique,
  add column client_id text not null,
  add column client_name text,
  -- The host of the client's metadata document; null: it registered itself.
  add column client_host text,
  add column redirect_host text not null,
  add column scopes text[] not null check (scopes <@ array['market:read', 'market:me', 'market:write']),
  add column proved_by text not null check (proved_by in ('key', 'pairing_code')),
  add column proven_at timestamptz;
create index hosted_grants_of on hosted_grants (merchant_id, granted_at desc);

-- Hosts through which a merchant has completed a read of its own record. Public; it only grows.
create table hosted_proven_hosts (
  host text primary key,
  proven_at timestamptz not null
);
create trigger hosted_proven_hosts_only_grow before update or delete on hosted_proven_hosts
  for each row execute function books_only_grow();
create trigger hosted_proven_hosts_never_truncated before truncate on hosted_proven_hosts
  for each statement execute function books_only_grow();

-- Every way in which a key is replaced or a store is won back (W10): rotation, recovery, new codes, pairing.

-- A key has a number of its own: its hash changes when the pepper does.
alter table merchant_keys add column id bigint generated always as identity;
alter table merchant_keys add constraint merchant_keys_number unique (id, merchant_id);

-- While this is rolled out a process of an earlier version can register nobody: its confirm fails whole, and may be sent again.

-- Recovery codes come in sets of eight, and only whole sets begin and end. In force is the newest that has not ended and whose time has
-- come, so a set that waits takes over by itself.
create table recovery_sets (
  merchant_id bigint not null references merchants,
  set_number int not null check (set_number > 0),
  created_at timestamptz not null,
  valid_from timestamptz not null,
  ended_at timestamptz,
  ended_as text check (ended_as in ('replaced', 'burned', 'canceled')),
  primary key (merchant_id, set_number),
  check (valid_from >= created_at),
  check ((ended_at is null) = (ended_as is null))
);
create unique index recovery_sets_one_at_once on recovery_sets (merchant_id)
  where ended_at is null and valid_from = created_at;

insert into recovery_sets (merchant_id, set_number, created_at, valid_from)
  select merchant_id, set_number, min(created_at), min(created_at) from recovery_codes group by merchant_id, set_number;
drop index recovery_codes_of_merchant;
alter table recovery_codes
  drop column ended_at,
  drop column created_at,
  add foreign key (merchant_id, set_number) references recovery_sets;
create index recovery_codes_of_set on recovery_codes (merchant_id, set_number);

-- A stage of a merchant that exists belongs to the key or the set of codes that began it, and is worth nothing without it.
alter table identity_stages
  drop constraint identity_stages_kind_check,
  drop constraint identity_stages_closed_as_check,
  alter column handle drop not null,
  alter column model drop not null,
  alter column client_class drop not null,
  alter column code_hashes drop not null,
  add column merchant_id bigint references merchants,
  add column begun_by_key bigint,
  add column begun_by_set int,
  add constraint identity_stages_closed_as_check check (closed_as in ('confirmed', 'canceled', 'superseded')),
  add foreign key (begun_by_key, merchant_id) references merchant_keys (id, merchant_id),
  add foreign key (merchant_id, begun_by_set) references recovery_sets,
  add constraint identity_stages_kind_check check (case kind
    when 'register' then merchant_id is null and handle is not null and model is not null and client_class is not null
      and code_hashes is not null and begun_by_key is null and begun_by_set is null
    when 'rotate' then merchant_id is not null and handle is null and code_hashes is null
      and begun_by_key is not null and begun_by_set is null
    when 'recovery' then merchant_id is not null and handle is null and code_hashes is not null
      and begun_by_key is null and begun_by_set is not null
    else false end);
create index identity_stages_open_of on identity_stages (merchant_id) where closed_at is null and merchant_id is not null;

-- What a human types on the hosted connector's page. Redeemed, it leads to a grant.
create table pairing_codes (
  code_hash bytea primary key check (length(code_hash) = 32),
  pepper_version int not null,
  merchant_id bigint not null references merchants,
  created_at timestamptz not null,
  expires_at timestamptz not null check (expires_at > created_at),
  ended_at timestamptz,
  ended_as text check (ended_as in ('redeemed', 'revoked')),
  check ((ended_at is null) = (ended_as is null))
);
create index pairing_codes_open_of on pairing_codes (merchant_id) where ended_at is null;
create index pairing_codes_old on pairing_codes (expires_at);

-- Hosts that act for a merchant without its key. Ended with the key under which they were granted.
create table hosted_grants (
  id uuid primary key,
  merchant_id bigint not null references merchants,
  granted_at timestamptz not null,
  revoked_at timestamptz
);
create index hosted_grants_open_of on hosted_grants (merchant_id) where revoked_at is null;

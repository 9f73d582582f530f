-- Who sells and buys, how a key proves it, and what is counted against abuse (W3, W10).

create table merchants (
  -- Given under the lock 'merchants', so that ids follow the order of commits and an oldest-first walk never misses a row.
  id bigint primary key check (id > 0),
  handle text not null unique check (handle ~ '^[a-z0-9][a-z0-9-]{2,31}$'),
  handle_skeleton text not null unique,
  store_line text not null default '' check (length(store_line) <= 160),
  model text not null,
  client_class text not null check (client_class in ('coding_persistent', 'coding_ephemeral')),
  joined_at timestamptz not null
);

create table merchant_keys (
  key_hash bytea primary key check (length(key_hash) = 32),
  pepper_version int not null,
  merchant_id bigint not null references merchants,
  created_at timestamptz not null,
  revoked_at timestamptz,
  last_used_on date
);
create unique index merchant_keys_one_current on merchant_keys (merchant_id) where revoked_at is null;

create table recovery_codes (
  code_hash bytea primary key check (length(code_hash) = 32),
  pepper_version int not null,
  merchant_id bigint not null references merchants,
  set_number int not null,
  created_at timestamptz not null,
  ended_at timestamptz
);
create index recovery_codes_of_merchant on recovery_codes (merchant_id, set_number);

-- A stage reserves nothing: it holds hashes only, and key and codes are in its one answer and never again.
create table identity_stages (
  session_hash bytea primary key check (length(session_hash) = 32),
  csrf_hash bytea not null check (length(csrf_hash) = 32),
  kind text not null check (kind in ('register')),
  handle text not null,
  model text not null,
  client_class text not null,
  key_hash bytea not null check (length(key_hash) = 32),
  code_hashes bytea[] not null check (array_length(code_hashes, 1) = 8),
  pepper_version int not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  closed_at timestamptz,
  closed_as text check (closed_as in ('confirmed', 'canceled')),
  check ((closed_at is null) = (closed_as is null))
);
create index identity_stages_ended on identity_stages (expires_at) where closed_as is distinct from 'confirmed';

-- Fixed windows, one row per name, subject and window; written in a transaction of its own before the check (W10).
create table rate_counters (
  name text not null,
  subject text not null,
  window_start timestamptz not null,
  used int not null,
  primary key (name, subject, window_start)
);
create index rate_counters_old on rate_counters (window_start);

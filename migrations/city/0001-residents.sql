-- Who lives in the city, how a key proves it, and what is counted against abuse (W10, W12). Nothing of the market's keys is here.

create table residents (
  -- Given under the lock 'residents'.
  id bigint primary key check (id > 0),
  handle text not null unique check (handle ~ '^[a-z0-9][a-z0-9-]{2,31}$'),
  handle_skeleton text not null unique,
  model text not null,
  client_class text not null check (client_class in ('coding_persistent', 'coding_ephemeral')),
  -- The merchant that this resident names. A link needs the same from the market's side.
  market_handle text check (market_handle ~ '^[a-z0-9][a-z0-9-]{2,31}$'),
  key_hash bytea not null unique check (length(key_hash) = 32),
  pepper_version int not null,
  joined_at timestamptz not null
);

-- A stage reserves nothing: it holds hashes only, and the key is in its one answer and never again.
create table resident_stages (
  session_hash bytea primary key check (length(session_hash) = 32),
  csrf_hash bytea not null check (length(csrf_hash) = 32),
  handle text not null,
  model text not null,
  client_class text not null,
  key_hash bytea not null check (length(key_hash) = 32),
  pepper_version int not null,
  created_at timestamptz not null,
  expires_at timestamptz not null,
  closed_at timestamptz,
  closed_as text check (closed_as in ('confirmed', 'canceled')),
  check ((closed_at is null) = (closed_as is null))
);
create index resident_stages_ended on resident_stages (expires_at) where closed_as is distinct from 'confirmed';

-- Fixed windows, one row per name, subject and window; written in a transaction of its own before the check.
create table rate_counters (
  name text not null,
  subject text not null,
  window_start timestamptz not null,
  used int not null,
  primary key (name, subject, window_start)
);
create index rate_counters_old on rate_counters (window_start);

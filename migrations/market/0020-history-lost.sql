-- compatible: older code
-- A restore or a failover can take back what was acknowledged (W16): how far each host has seen the log, and when one found it shorter.

-- What each host's copy of the log ended with. For a host that has no copy yet.
create table log_copies (
  host uuid primary key,
  last_id bigint not null check (last_id > 0),
  running_hash bytea not null check (length(running_hash) = 32),
  written_at timestamptz not null
);

-- The highest id of each kind that may have been shown: what is new gets a higher one. Raised by recoveries alone.
create table id_floors (
  kind text primary key,
  id bigint not null check (id >= 0)
);
create function next_id(of_kind text, highest bigint) returns bigint language sql stable as $$
  select greatest(coalesce(highest, 0), coalesce((select id from id_floors where kind = of_kind), 0)) + 1
$$;

-- Fees were counted by their ids. Null in rows from before: there it is the id.
alter table fees add column nth bigint;

-- Listings that were shown and are not in the books: who sold what, so that a buyer can be told who has the money.
create table lost_listings (
  id bigint primary key,
  recovery_id bigint not null references recoveries,
  merchant_id bigint not null,
  -- Null where the copy is of before the log named them.
  payee bytea check (length(payee) = 20),
  artifact_commitment bytea check (length(artifact_commitment) = 32),
  price_units bigint not null
);
create trigger lost_listings_only_grow before update or delete on lost_listings for each row execute function books_only_grow();

-- While a row is open no payment opens, settles or ends, nothing is written to the log, and nothing in it is numbered.
create table history_losses (
  id bigint generated always as identity primary key,
  -- What a host's copy ends with.
  copied_id bigint not null,
  copied_hash bytea not null check (length(copied_hash) = 32),
  -- What the log ended with when it was noticed; 0 for an empty one.
  found_id bigint not null,
  host uuid not null,
  noticed_at timestamptz not null,
  recovered_by bigint references recoveries
);
create unique index history_losses_one_open on history_losses ((recovered_by is null)) where recovered_by is null;

-- Compared before a recovery, and told after it: the recovery is the answer. One waits for the other.
create function history_losses_and_recoveries() returns trigger language plpgsql security definer set search_path from current as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('history_losses', 0));
  if tg_table_name = 'history_losses' and exists (
    select from recoveries r where r.kept_event_id < (to_jsonb(new)->>'copied_id')::bigint and r.event_id > (to_jsonb(new)->>'copied_id')::bigint
  ) then
    return null;
  end if;
  return new;
end $$;
create trigger history_losses_and_recoveries before insert on history_losses for each row execute function history_losses_and_recoveries();
create trigger history_losses_and_recoveries before insert on recoveries for each row execute function history_losses_and_recoveries();

create function history_losses_end_once() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.recovered_by is null and new.recovered_by is not null
     and (new.id, new.copied_id, new.copied_hash, new.found_id, new.host, new.noticed_at)
       is not distinct from (old.id, old.copied_id, old.copied_hash, old.found_id, old.host, old.noticed_at)
     and exists (select from recoveries r where r.id = new.recovered_by and r.made_in = pg_current_xact_id()) then
    return new;
  end if;
  raise exception 'a loss of history ends once, by a recovery that is written down' using errcode = 'restrict_violation',
    constraint = 'history_losses_end_once';
end $$;
create trigger history_losses_end_once before update or delete on history_losses for each row execute function history_losses_end_once();
create trigger history_losses_never_truncated before truncate on history_losses for each statement execute function books_only_grow();

-- Of events: their insertion, and so every act that is told; and their numbering. Of payments: opening and every step.
create function history_is_whole() returns trigger language plpgsql security definer set search_path from current as $$
begin
  if exists (select from history_losses where recovered_by is null) then
    raise exception 'history was lost: nothing is written until the operator has recovered it'
      using errcode = 'restrict_violation', constraint = 'history_is_whole';
  end if;
  return coalesce(new, old);
end $$;
create trigger a_history_is_whole before insert or update on events for each row execute function history_is_whole();
create trigger a_history_is_whole before insert or update on payments for each row execute function history_is_whole();

-- Whether a payment of that chain may be opened, settled or ended.
create function payments_are_stopped(chain bigint) returns boolean language sql stable as $$
  select exists (select from chain_halts where chain_id = chain and resumed_at is null)
    or exists (select from history_losses where recovered_by is null)
$$;

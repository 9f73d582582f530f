-- compatible: older code
-- A restore or a failover can take back what was acknowledged (W16). So every change of the books stands in a log of its own, with a
-- running hash, and each host keeps a copy of it. Tables and columns are those of the market's log, and the same code reads both.

create table events (
  -- Given at the commit, under the lock 'events': in the order of commits.
  id bigint primary key check (id > 0),
  -- {act, kind, row, with}: what was done to which table, the row as it was left or deleted, and in which transaction.
  canonical bytea not null,
  -- SHA-256 over the hash of the row before, the id as 8 bytes (big-endian) and the canonical bytes; before the first row it is empty.
  running_hash bytea not null check (length(running_hash) = 32),
  -- By the database's clock; never goes back.
  numbered_at timestamptz not null
);
create index events_by_time on events (numbered_at);
create trigger events_only_grow before update or delete on events for each row execute function history_only_grows();
create trigger events_never_truncated before truncate on events for each statement execute function history_only_grows();

-- The operator's word that a time before is what there is.
create table recoveries (
  id bigint generated always as identity primary key,
  reason text not null check (length(reason) between 1 and 1000),
  -- The last event that was kept, and the first id given out after it: no event has an id between.
  kept_event_id bigint not null check (kept_event_id >= 0),
  event_id bigint not null,
  -- How many acts were put back, and how many residents were only held.
  found jsonb not null,
  at timestamptz not null,
  db_role text not null default session_user,
  made_in xid8 not null default pg_current_xact_id(),
  check (event_id > kept_event_id)
);
create trigger recoveries_only_grow before update or delete on recoveries for each row execute function history_only_grows();
create trigger recoveries_never_truncated before truncate on recoveries for each statement execute function history_only_grows();

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

-- While a row is open nothing in the books changes.
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
create trigger history_losses_never_truncated before truncate on history_losses for each statement execute function history_only_grows();

-- Looked at when a transaction commits: its last lock, so that nobody waits for it while holding what others need. As the owner, for
-- whoever writes, also the code of before.
create function note_act() returns trigger language plpgsql security definer set search_path from current as $$
declare
  told bytea;
  before record;
  next bigint;
begin
  if tg_op = 'UPDATE' and to_jsonb(new) = to_jsonb(old) then return null; end if;
  perform pg_advisory_xact_lock(hashtextextended('events', 0));
  if exists (select from history_losses where recovered_by is null) then
    raise exception 'history was lost: nothing is written until the operator has recovered it'
      using errcode = 'restrict_violation', constraint = 'history_is_whole';
  end if;
  told := convert_to(jsonb_build_object('act', lower(tg_op), 'kind', tg_table_name,
    -- A recovery says of what it puts back which acts were of one transaction.
    'with', coalesce(nullif(current_setting('openaisle.acts_with', true), ''), pg_current_xact_id()::text),
    'row', case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end)::text, 'UTF8');
  select e.id, e.running_hash, e.numbered_at into before from events e order by e.id desc limit 1;
  next := next_id('events', before.id);
  insert into events (id, canonical, running_hash, numbered_at)
  values (next, told, sha256(coalesce(before.running_hash, '') || int8send(next) || told), greatest(clock_timestamp(), before.numbered_at));
  return null;
end $$;
create constraint trigger note_act after insert or update or delete on residents deferrable initially deferred
  for each row execute function note_act();
create constraint trigger note_act after insert or update or delete on things deferrable initially deferred
  for each row execute function note_act();
create constraint trigger note_act after insert or update or delete on thing_owners deferrable initially deferred
  for each row execute function note_act();
create constraint trigger note_act after insert or update or delete on offers deferrable initially deferred
  for each row execute function note_act();
create constraint trigger note_act after insert or update or delete on reservations deferrable initially deferred
  for each row execute function note_act();
create constraint trigger note_act after insert or update or delete on claims deferrable initially deferred
  for each row execute function note_act();
create constraint trigger note_act after insert or update or delete on sale_proofs deferrable initially deferred
  for each row execute function note_act();
-- A recovery says which acts it has left behind, and which ids are not given out again.
create constraint trigger note_act after insert on recoveries deferrable initially deferred
  for each row execute function note_act();
create constraint trigger note_act after insert or update on id_floors deferrable initially deferred
  for each row execute function note_act();

-- The public log (W13). A row is written unnumbered in the transaction of the act; a sequencer numbers it after the commit.

create table events (
  queue_id bigint generated always as identity primary key,
  -- Gapless, in the order of numbering; null until then.
  id bigint unique check (id > 0),
  kind text not null,
  at timestamptz not null,
  -- RFC 8785 bytes of {actor, at, detail, kind}: what later proofs hash.
  canonical bytea not null,
  in_door boolean not null,
  in_window boolean not null,
  queued_at timestamptz not null default clock_timestamp(),
  -- How many numbered rows of this kind and of each scope there are up to and with this one: exact totals without counting.
  nth_of_kind bigint,
  nth_of_door bigint,
  nth_of_window bigint,
  check ((id is null) = (nth_of_kind is null) and (id is null) = (nth_of_door is null) and (id is null) = (nth_of_window is null))
);
create index events_unnumbered on events (queue_id) where id is null;
create index events_by_kind on events (kind, id desc) where id is not null;
create index events_in_door on events (id desc) where in_door and id is not null;
create index events_in_window on events (id desc) where in_window and id is not null;

create function events_only_grow() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.id is null and new.id is not null
     and new.queue_id = old.queue_id and new.kind = old.kind and new.at = old.at and new.canonical = old.canonical
     and new.in_door = old.in_door and new.in_window = old.in_window and new.queued_at = old.queued_at then
    return new;
  end if;
  raise exception 'the event log only grows' using errcode = 'restrict_violation', constraint = 'events_only_grow';
end $$;
create trigger events_only_grow before update or delete on events for each row execute function events_only_grow();
create trigger events_never_truncated before truncate on events for each statement execute function events_only_grow();

create function events_start_unnumbered() returns trigger language plpgsql as $$
begin
  if new.id is not null then
    raise exception 'an event is numbered after its commit' using errcode = 'restrict_violation', constraint = 'events_only_grow';
  end if;
  return new;
end $$;
create trigger events_start_unnumbered before insert on events for each row execute function events_start_unnumbered();

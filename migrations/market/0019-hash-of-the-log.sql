-- compatible: older code
-- The log's own honesty: a running hash in every row, times that do not run backwards, and events that tell of what is in the books.

-- The operator's word that a time before is what there is, and from where on the chain may hold payments that the books lack. The log of
-- them is what gives them effect, so none can be left out of it.
create table recoveries (
  id bigint generated always as identity primary key,
  chain_id bigint not null,
  -- The window: a transfer in it may have been in the books that were lost.
  from_block bigint not null check (from_block >= 0),
  to_block bigint not null,
  reason text not null check (length(reason) between 1 and 1000),
  -- The last event that was kept, and the first id given out after it: no event has an id between.
  kept_event_id bigint not null check (kept_event_id >= 0),
  event_id bigint not null,
  -- Hashes and numbers of what was carried out again.
  found jsonb not null,
  at timestamptz not null,
  db_role text not null default session_user,
  -- What a command may do, it may do in the transaction that writes it down.
  made_in xid8 not null default pg_current_xact_id(),
  check (to_block >= from_block and event_id > kept_event_id)
);
create trigger recoveries_only_grow before update or delete on recoveries for each row execute function books_only_grow();
create trigger recoveries_never_truncated before truncate on recoveries for each statement execute function books_only_grow();

-- Whose key may be another's by now, or was replaced in what was lost. `rotate`: it may do that and nothing else. `recover`: it is
-- revoked, and a recovery code or the operator gives a new one.
create table identity_locks (
  merchant_id bigint primary key references merchants,
  until text not null check (until in ('rotate', 'recover')),
  recovery_id bigint not null references recoveries
);

-- SHA-256 over the hash of the row before, the id as 8 bytes (big-endian) and the canonical bytes; before the first row it is empty.
create function extend_running_hash(state bytea, before bytea, id bigint, canonical bytea) returns bytea
  language sql immutable as $$ select sha256(coalesce(state, before, '') || int8send(id) || canonical) $$;
create aggregate running_hash(bytea, bigint, bytea) (sfunc = extend_running_hash, stype = bytea);

-- Rows from before have no hash of their own: this one stands for all of them. The row with the highest id counts.
create table event_log_baseline (
  last_id bigint primary key,
  running_hash bytea not null check (length(running_hash) = 32)
);
-- Read before anything is locked: in a long log it takes seconds.
insert into event_log_baseline (last_id, running_hash)
select max(id), running_hash(null, id, canonical order by id) from events where id is not null having count(*) > 0;

alter table events
  add column running_hash bytea,
  -- By the database's clock.
  add column numbered_at timestamptz,
  -- Which of the whole log it is. Null in rows from before: there it is the id.
  add column nth bigint;

create or replace function events_only_grow() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.queue_id = old.queue_id and new.kind = old.kind and new.at = old.at and new.canonical = old.canonical
     and new.in_door = old.in_door and new.in_window = old.in_window and new.queued_at = old.queued_at
     and new.listing_id is not distinct from old.listing_id then
    -- Numbered once; then stamped once, by hash_numbered_events.
    if old.id is null and new.id is not null and num_nonnulls(new.running_hash, new.numbered_at, new.nth) = 0 then
      return new;
    end if;
    if old.running_hash is null and num_nulls(new.running_hash, new.numbered_at, new.nth) = 0 and new.id = old.id
       and (new.nth_of_kind, new.nth_of_door, new.nth_of_window) = (old.nth_of_kind, old.nth_of_door, old.nth_of_window) then
      return new;
    end if;
  end if;
  raise exception 'the event log only grows' using errcode = 'restrict_violation', constraint = 'events_only_grow';
end $$;

create or replace function events_start_unnumbered() returns trigger language plpgsql as $$
begin
  if num_nonnulls(new.id, new.running_hash, new.numbered_at, new.nth) > 0 then
    raise exception 'an event is numbered after its commit' using errcode = 'restrict_violation', constraint = 'events_only_grow';
  end if;
  return new;
end $$;

-- Whoever numbers, also the code of before, whose rights do not reach these columns: so it runs as the owner.
create function hash_numbered_events() returns trigger language plpgsql security definer set search_path from current as $$
declare
  first_id bigint;
  before record;
  newest record;
  moment timestamptz;
begin
  select min(id) into first_id from touched where id is not null and running_hash is null;
  if first_id is null then return null; end if;
  select e.id, e.running_hash, e.numbered_at, coalesce(e.nth, e.id) as nth into before
  from events e where e.id < first_id order by e.id desc limit 1;
  if before.running_hash is null then
    select b.last_id, b.running_hash into newest from event_log_baseline b order by b.last_id desc limit 1;
    if before.id is distinct from newest.last_id then
      raise exception 'event % has no running hash', before.id using errcode = 'restrict_violation', constraint = 'events_are_hashed';
    end if;
    before.running_hash := newest.running_hash;
  end if;
  -- One for the whole batch: its rows are written in any order.
  moment := greatest(clock_timestamp(), before.numbered_at);
  update events e set running_hash = stamped.running_hash, nth = stamped.nth, numbered_at = moment
  from (
    select t.queue_id, running_hash(before.running_hash, t.id, t.canonical) over upto as running_hash,
      coalesce(before.nth, 0) + row_number() over upto as nth
    from touched t window upto as (order by t.id)
  ) stamped
  where e.queue_id = stamped.queue_id;
  return null;
end $$;
create trigger hash_numbered_events after update on events referencing new table as touched
  for each statement execute function hash_numbered_events();

-- What was numbered since the first reading. The trigger holds off everybody else until the commit.
insert into event_log_baseline (last_id, running_hash)
select max(e.id), running_hash(b.running_hash, e.id, e.canonical order by e.id)
from (select last_id, running_hash from event_log_baseline union all select 0, '' order by last_id desc limit 1) b
join events e on e.id > b.last_id
group by b.last_id, b.running_hash;
create trigger event_log_baseline_only_grows before update or delete on event_log_baseline
  for each row execute function books_only_grow();

-- An act is written down when it is made.
create function events_are_of_now() returns trigger language plpgsql as $$
begin
  if abs(extract(epoch from new.at - clock_timestamp())) > 60 then
    raise exception 'an event of % comes at %: the clocks of server and database differ', new.at, clock_timestamp()
      using errcode = 'restrict_violation', constraint = 'events_are_of_now';
  end if;
  return new;
end $$;
create trigger events_are_of_now before insert on events for each row execute function events_are_of_now();

-- Whether the books hold what the event tells of. Times are compared roughly: an act looks at the clock more than once.
create function is_in_the_books(kind text, at timestamptz, actor text, detail jsonb) returns boolean language plpgsql stable as $$
declare
  listing bigint := (detail->>'listing_id')::bigint;
  merchant bigint := (detail->>'merchant_id')::bigint;
  payment bigint := (detail->>'payment_id')::bigint;
  earliest timestamptz := at - interval '60 seconds';
  latest timestamptz := at + interval '60 seconds';
begin
  return case
    when kind = 'register' then exists (select from merchants m where m.id = merchant and m.handle = actor and m.joined_at between earliest and latest)
    when kind in ('rotate', 'recover') then exists (
      select from merchant_keys k join merchants m on m.id = k.merchant_id
      where k.merchant_id = merchant and m.handle = actor and k.revoked_at is null and k.created_at between earliest and latest)
    when kind in ('listing', 'maintainer_seed') then exists (
      select from listings l join merchants m on m.id = l.merchant_id
      where l.id = listing and l.merchant_id = merchant and m.handle = actor and l.created_at between earliest and latest
        and (l.fee_id is null) = (kind = 'maintainer_seed') and l.aisle = detail->>'aisle'
        and l.price_units = (detail->>'price_usdc')::numeric * 1000000
        -- The code of before does not say these.
        and (not detail ? 'seller_wallet' or lower(detail->>'seller_wallet') = '0x' || encode(l.seller_wallet, 'hex'))
        and (not detail ? 'artifact_commitment' or detail->>'artifact_commitment' = '0x' || encode(l.artifact_commitment, 'hex')))
    when kind = 'listing_edit' then exists (
      select from listings l join merchants m on m.id = l.merchant_id
      where l.id = listing and l.merchant_id = merchant and m.handle = actor
        and (not detail ? 'artifact_commitment' or detail->>'artifact_commitment' = '0x' || encode(l.artifact_commitment, 'hex')))
    when kind = 'withdrawal' then exists (
      select from listings l join merchants m on m.id = l.merchant_id
      where l.id = listing and l.merchant_id = merchant and m.handle = actor and l.withdrawn_at between earliest and latest)
    when kind in ('sale', 'world_sale') then exists (
      select from purchases p join listings l on l.id = p.listing_id left join merchants m on m.id = p.merchant_id
      where p.listing_id = listing and l.merchant_id = merchant and p.verified_via = detail->>'verified_via'
        and (p.verified_via = 'city') = (kind = 'world_sale') and coalesce(m.handle, 'system') = actor
        and p.payment_id is not distinct from payment and p.paid_units = (detail->>'paid_usdc')::numeric * 1000000
        and p.created_at between earliest and latest)
    when kind = 'world_canceled' then exists (
      select from listings l where l.id = listing and l.merchant_id = merchant and l.state in ('canceled', 'stale'))
    when kind = 'comment' then exists (
      select from comments c join merchants m on m.id = c.merchant_id
      where c.id = (detail->>'comment_id')::bigint and c.listing_id = listing and m.handle = actor
        and c.created_at between earliest and latest)
    when kind = 'flag' then exists (
      select from flags f join merchants m on m.id = f.merchant_id
      where m.handle = actor and f.created_at between earliest and latest
        and (f.listing_id, f.comment_id, f.flagged_merchant_id) is not distinct from (listing, (detail->>'comment_id')::bigint, merchant))
    when kind = 'appeal' then exists (
      select from appeals a where a.id = (detail->>'appeal_id')::bigint and a.listing_id = listing and a.created_at between earliest and latest)
    when kind = 'review' then exists (
      select from payments p where p.id = payment and p.review_outcome = detail->>'outcome' and p.reviewed_at between earliest and latest)
    when kind = 'recovery' then exists (
      select from recoveries r where r.made_in = pg_current_xact_id() and r.from_block = (detail->>'from_block')::bigint
        and r.to_block = (detail->>'to_block')::bigint and r.reason = detail->>'reason')
      -- Codes for a merchant that only a recovery has locked out.
      or (detail->>'action' = 'unlock' and exists (select from identity_locks k where k.merchant_id = merchant and k.until = 'recover'))
    when kind = 'moderation' then (select m.handle from merchants m where m.id = 1) = actor and case detail->>'action'
      when 'pin' then exists (select from listings l where l.id = listing and l.pinned)
      when 'unpin' then exists (select from listings l where l.id = listing and not l.pinned)
      when 'remove' then exists (
        select from removals r where r.listing_id = listing and r.restored_at is null
          -- A recovery makes it again, with its own time.
          and (r.removed_at between earliest and latest or exists (select from recoveries v where v.made_in = pg_current_xact_id())))
      when 'remove_comment' then exists (
        select from comments c where c.id = (detail->>'comment_id')::bigint and c.removed_at between earliest and latest)
      when 'decide_appeal' then exists (
        select from appeals a where a.id = (detail->>'appeal_id')::bigint and a.outcome = detail->>'outcome'
          and a.decided_at between earliest and latest)
      when 'fee_review' then exists (
        select from payments p where p.id = payment and p.purpose = 'listing_fee' and p.review_outcome = detail->>'outcome'
          and p.reviewed_at between earliest and latest)
      else false end
    else false end;
end $$;

-- When the transaction commits, for all who insert: the market, the code of before, the owner.
-- As the owner: a role that was given its rights before these tables were made cannot read them.
create function events_tell_of_the_books() returns trigger language plpgsql security definer set search_path from current as $$
declare
  told jsonb := convert_from(new.canonical, 'UTF8')::jsonb;
begin
  if told->>'kind' is distinct from new.kind or (told->>'at')::timestamptz is distinct from new.at
     or (told #>> '{detail,listing_id}')::bigint is distinct from new.listing_id
     or not coalesce(is_in_the_books(new.kind, new.at, told->>'actor', told->'detail'), false) then
    raise exception 'the books hold nothing of which this % tells', new.kind
      using errcode = 'restrict_violation', constraint = 'events_tell_of_the_books';
  end if;
  return null;
end $$;
create constraint trigger events_tell_of_the_books after insert on events deferrable initially deferred
  for each row execute function events_tell_of_the_books();

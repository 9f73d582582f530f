-- Things, each unique, and who owned them. An owner changes by a gift, or by an offer that was paid.

create table things (
  -- Given under the lock 'things'.
  id bigint primary key check (id > 0),
  name text not null,
  owner_id bigint not null references residents,
  created_at timestamptz not null
);
create index things_of_owner on things (owner_id, id desc);

create table thing_owners (
  thing_id bigint not null references things,
  nth int not null check (nth > 0),
  owner_id bigint not null references residents,
  owned_from timestamptz not null,
  -- The sale by which it came; null for who made it and for a gift.
  offer_id bigint unique,
  primary key (thing_id, nth)
);

create function history_only_grows() returns trigger language plpgsql as $$
begin
  raise exception '% only grows', tg_table_name using errcode = 'restrict_violation', constraint = tg_table_name || '_only_grow';
end $$;
create trigger thing_owners_only_grow before update or delete on thing_owners for each row execute function history_only_grows();
create trigger thing_owners_never_truncated before truncate on thing_owners for each statement execute function history_only_grows();

-- The owner of a thing is the last of its history: looked at when the transaction commits.
create function owner_is_the_last() returns trigger language plpgsql as $$
declare
  thing bigint := to_jsonb(new) ->> case tg_table_name when 'things' then 'id' else 'thing_id' end;
begin
  if not exists (
    select from things t join thing_owners o on o.thing_id = t.id and o.owner_id = t.owner_id
    where t.id = thing and o.nth = (select count(*) from thing_owners where thing_id = thing)
      and o.nth = (select max(nth) from thing_owners where thing_id = thing)
  ) then
    raise exception 'the owner of thing % is not the last of its history', thing
      using errcode = 'restrict_violation', constraint = 'owner_is_the_last';
  end if;
  return null;
end $$;
create constraint trigger things_have_their_owner after insert or update on things deferrable initially deferred
  for each row execute function owner_is_the_last();
create constraint trigger thing_owners_agree after insert on thing_owners deferrable initially deferred
  for each row execute function owner_is_the_last();

-- What happens around a sale: versions, removals with an appeal, voices, and the guard against goods that are nearly the same (W4, W6).

-- A newer version names the listing of the same merchant that it supersedes. Each has one successor at most, so versions are a line.
alter table listings add unique (id, merchant_id);
alter table listings
  add column supersedes bigint check (supersedes < id),
  add column entitles_previous_buyers boolean not null default false,
  add column text_flags text[] not null default '{}',
  add check (not entitles_previous_buyers or supersedes is not null),
  add foreign key (supersedes, merchant_id) references listings (id, merchant_id);
create unique index listings_one_successor on listings (supersedes) where supersedes is not null;

create or replace function listing_terms_are_fixed() returns trigger language plpgsql as $$
begin
  if new.id <> old.id or new.merchant_id <> old.merchant_id or new.price_units <> old.price_units
     or new.seller_wallet <> old.seller_wallet or new.created_at <> old.created_at
     or new.fee_id is distinct from old.fee_id or new.body_hash <> old.body_hash
     or new.supersedes is distinct from old.supersedes or new.entitles_previous_buyers <> old.entitles_previous_buyers then
    raise exception 'price, wallet and origin of a listing never change'
      using errcode = 'restrict_violation', constraint = 'listing_terms_are_fixed';
  end if;
  return new;
end $$;

-- The same steps as the table LISTING_STEPS of the code. A withdrawal is for good: a restored listing that was withdrawn is withdrawn.
create function listing_states_step() returns trigger language plpgsql as $$
begin
  if (new.withdrawn_at is distinct from old.withdrawn_at and not (old.state = 'live' and new.state = 'withdrawn'))
     or (new.state <> old.state and not (
       (old.state = 'live' and new.state in ('withdrawn', 'removed', 'sold', 'canceled', 'stale'))
       or (old.state = 'withdrawn' and new.state = 'removed')
       or (old.state = 'removed' and new.state = case when old.withdrawn_at is null then 'live' else 'withdrawn' end)
     )) then
    raise exception 'a listing that is % does not become %', old.state, new.state
      using errcode = 'restrict_violation', constraint = 'listing_states_step';
  end if;
  return new;
end $$;
create trigger listing_states_step before update on listings
  for each row when (new.state <> old.state or new.withdrawn_at is distinct from old.withdrawn_at)
  execute function listing_states_step();

-- Whoever looks at the older one sees that there is a newer.
create or replace function note_listing() returns trigger language plpgsql as $$
begin
  insert into catalog_changes (listing_id) values (new.id);
  if tg_op = 'INSERT' and new.supersedes is not null then
    insert into catalog_changes (listing_id) values (new.supersedes);
  end if;
  return null;
end $$;

-- Every removal, also those that were taken back. The listing's own columns tell of the one in force.
create table removals (
  id bigint generated always as identity primary key,
  listing_id bigint not null references listings,
  reason_code text not null,
  reason text not null,
  removed_by bigint not null references merchants,
  removed_at timestamptz not null,
  restored_at timestamptz,
  unique (id, listing_id)
);
create unique index removals_one_in_force on removals (listing_id) where restored_at is null;
create index removals_of_listing on removals (listing_id, id desc);
insert into removals (listing_id, reason_code, reason, removed_by, removed_at)
select id, coalesce(removed_reason_code, 'other'), coalesce(removed_reason, ''), 1, removed_at from listings where state = 'removed'
order by removed_at, id;

create table appeals (
  id bigint generated always as identity primary key,
  removal_id bigint not null unique,
  listing_id bigint not null,
  statement text not null,
  created_at timestamptz not null,
  outcome text check (outcome in ('removal_upheld', 'restored')),
  outcome_reason text,
  decided_at timestamptz,
  foreign key (removal_id, listing_id) references removals (id, listing_id),
  check ((outcome is null) = (outcome_reason is null) and (outcome is null) = (decided_at is null))
);
create index appeals_of_listing on appeals (listing_id, id desc);
create trigger note_appeal after insert or update on appeals for each row execute function note_listing_of();

-- What was said stays said: a removal is taken back once, an appeal decided once, a comment emptied once, and nothing else changes.
create function voices_are_fixed() returns trigger language plpgsql as $$
declare
  ended boolean;
begin
  if tg_op = 'UPDATE' then
    ended := case tg_table_name
      when 'removals' then to_jsonb(old) - 'restored_at' = to_jsonb(new) - 'restored_at' and to_jsonb(old) -> 'restored_at' = 'null'
      when 'appeals' then to_jsonb(old) - '{outcome,outcome_reason,decided_at}'::text[]
          = to_jsonb(new) - '{outcome,outcome_reason,decided_at}'::text[] and to_jsonb(old) -> 'outcome' = 'null'
      when 'comments' then to_jsonb(old) - '{removed_at,removed_reason_code,removed_reason}'::text[]
          = to_jsonb(new) - '{removed_at,removed_reason_code,removed_reason}'::text[] and to_jsonb(old) -> 'removed_at' = 'null'
      else false
    end;
    if ended then return new; end if;
  end if;
  raise exception '% keep what they say', tg_table_name using errcode = 'restrict_violation', constraint = 'voices_are_fixed';
end $$;
create trigger removals_are_fixed before update or delete on removals for each row execute function voices_are_fixed();
create trigger appeals_are_fixed before update or delete on appeals for each row execute function voices_are_fixed();
create trigger removals_never_truncated before truncate on removals for each statement execute function voices_are_fixed();
create trigger appeals_never_truncated before truncate on appeals for each statement execute function voices_are_fixed();

create table comments (
  -- Given under the lock 'comments', so that ids follow the order of commits: no walk meets one twice, or one too many.
  id bigint primary key check (id > 0),
  listing_id bigint not null references listings,
  merchant_id bigint not null references merchants,
  parent_id bigint check (parent_id < id),
  body text not null,
  text_flags text[] not null default '{}',
  created_at timestamptz not null,
  removed_at timestamptz,
  removed_reason_code text,
  removed_reason text,
  unique (id, listing_id),
  foreign key (parent_id, listing_id) references comments (id, listing_id),
  check ((removed_at is null) = (removed_reason_code is null) and (removed_at is null) = (removed_reason is null))
);
create index comments_of_listing on comments (listing_id, id);
create index comments_of_author on comments (merchant_id, id desc);
create index comments_of_parent on comments (parent_id, id) where parent_id is not null;
create trigger comments_are_fixed before update or delete on comments for each row execute function voices_are_fixed();
create trigger comments_never_truncated before truncate on comments for each statement execute function voices_are_fixed();
create trigger note_comment after insert or update on comments for each row execute function note_listing_of();

create table flags (
  id bigint generated always as identity primary key,
  merchant_id bigint not null references merchants,
  listing_id bigint references listings,
  comment_id bigint references comments,
  flagged_merchant_id bigint references merchants,
  reason text not null,
  created_at timestamptz not null,
  check (num_nonnulls(listing_id, comment_id, flagged_merchant_id) = 1)
);
create unique index flags_one_per_listing on flags (listing_id, merchant_id) where listing_id is not null;
create unique index flags_one_per_comment on flags (comment_id, merchant_id) where comment_id is not null;
create unique index flags_one_per_merchant on flags (flagged_merchant_id, merchant_id) where flagged_merchant_id is not null;
create trigger flags_are_fixed before update or delete on flags for each row execute function voices_are_fixed();
create trigger flags_never_truncated before truncate on flags for each statement execute function voices_are_fixed();

-- The shape of an artifact of 200 characters or more: MinHash values in bands, by which like ones are found, and one bit of each of
-- many more, by which their likeness is estimated. Listings only: what waits for its fee is looked at again when it goes live.
create table artifact_shapes (
  listing_id bigint primary key references listings,
  bands int4[] not null,
  signature bit(512) not null
);
create index artifact_shapes_by_band on artifact_shapes using gin (bands) with (fastupdate = off);

-- A newer version takes over the place of the goods that it supersedes; if its fee ends unpaid, the place goes back.
alter table artifact_guards
  add column taken_from bigint references listings,
  add column taken_until timestamptz,
  add check ((taken_from is null) = (taken_until is null));

-- Votes, and what the catalogs in memory follow.

create table votes (
  listing_id bigint not null references listings,
  merchant_id bigint not null references merchants,
  created_at timestamptz not null,
  primary key (listing_id, merchant_id)
);

-- Acts that can move a row within a walk of the shelves (edits and pins), numbered in the order of their commits: the row is held
-- until the commit. A walk remembers the number with which it began.
create table catalog_state (
  single boolean primary key default true check (single),
  last_act bigint not null check (last_act >= 0),
  -- Changes of transactions below this were deleted; who has not read them yet has to load everything anew.
  kept_from xid8 not null
);
insert into catalog_state (last_act, kept_from)
select coalesce(max(greatest(began, ended)), 0), '0'::xid8 from pin_periods;

create function next_catalog_act() returns bigint language plpgsql as $$
declare
  act bigint;
begin
  update catalog_state set last_act = last_act + 1 returning last_act into strict act;
  return act;
end $$;

create or replace function note_pin() returns trigger language plpgsql as $$
declare
  act bigint := next_catalog_act();
begin
  if new.pinned then
    insert into pin_periods (listing_id, began) values (new.id, act);
  else
    update pin_periods set ended = act where listing_id = new.id and ended is null;
  end if;
  return null;
end $$;

-- The act of the last change of a listing's searchable text; 0: as it was listed.
alter table listings add column edited_act bigint not null default 0;

create function note_edit() returns trigger language plpgsql as $$
begin
  new.edited_act := next_catalog_act();
  return new;
end $$;
create trigger note_edit before update on listings for each row
  when ((new.title, new.description, new.preview, new.tags, new.aisle) is distinct from
        (old.title, old.description, old.preview, old.tags, old.aisle))
  execute function note_edit();

-- What a buyer was promised stays: goods that cost something, or that somebody has, are never exchanged.
create function artifact_is_fixed() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.listing_id = old.listing_id
     and exists (select from listings where id = old.listing_id and price_units = 0)
     and not exists (select from purchases where listing_id = old.listing_id) then
    return new;
  end if;
  raise exception 'these goods never change' using errcode = 'restrict_violation', constraint = 'artifact_is_fixed';
end $$;
create trigger artifact_is_fixed before update or delete on artifacts for each row execute function artifact_is_fixed();

create function commitment_is_fixed() returns trigger language plpgsql as $$
begin
  raise exception 'the commitment to goods that cost something never changes'
    using errcode = 'restrict_violation', constraint = 'commitment_is_fixed';
end $$;
create trigger commitment_is_fixed before update on listings for each row
  when (old.price_units > 0 and new.artifact_commitment <> old.artifact_commitment) execute function commitment_is_fixed();

-- Which listings and merchants a transaction has changed. Readers compare snapshots: what the newer one sees and the older one did
-- not is new, whatever the order of commits, so that nothing is skipped and nothing comes twice.
create table catalog_changes (
  xid xid8 not null default pg_current_xact_id(),
  listing_id bigint,
  merchant_id bigint,
  noted_at timestamptz not null default clock_timestamp(),
  check (num_nonnulls(listing_id, merchant_id) = 1)
);
create index catalog_changes_by_xid on catalog_changes (xid);
create index catalog_changes_by_time on catalog_changes (noted_at);

create function note_listing() returns trigger language plpgsql as $$
begin
  insert into catalog_changes (listing_id) values (new.id);
  return null;
end $$;
create trigger note_listing after insert or update on listings for each row execute function note_listing();

create function note_listing_of() returns trigger language plpgsql as $$
begin
  insert into catalog_changes (listing_id) values (new.listing_id);
  return null;
end $$;
create trigger note_sale after insert on purchases for each row execute function note_listing_of();
create trigger note_vote after insert on votes for each row execute function note_listing_of();
create index purchases_by_payer on purchases (payer) where payer is not null;

create function note_merchant() returns trigger language plpgsql as $$
begin
  insert into catalog_changes (merchant_id) values (new.id);
  return null;
end $$;
create trigger note_merchant after insert or update on merchants for each row execute function note_merchant();

-- Goods on the shelves, their hidden artifacts, and the guard against the same goods twice (W6).

-- A wallet sells ordinary goods or things of the world, never both: one transfer must not buy on two sites.
create table wallet_uses (
  wallet bytea primary key check (length(wallet) = 20),
  kind text not null check (kind in ('ordinary', 'world')),
  unique (wallet, kind)
);

create table listings (
  -- Given under the lock 'listings', so that ids follow the order of commits: a newest-first walk never meets a row twice.
  id bigint primary key check (id > 0),
  merchant_id bigint not null references merchants,
  title text not null,
  description text not null,
  preview text not null,
  price_units bigint not null check (price_units between 0 and 10000000000),
  seller_wallet bytea not null,
  wallet_kind text not null default 'ordinary' check (wallet_kind = 'ordinary'),
  tags text[] not null,
  aisle text not null,
  state text not null default 'live' check (state in ('live', 'removed', 'withdrawn', 'sold', 'canceled', 'stale')),
  pinned boolean not null default false,
  created_at timestamptz not null,
  removed_at timestamptz,
  removed_reason text,
  removed_reason_code text,
  withdrawn_at timestamptz,
  withdrawn_reason text,
  artifact_commitment bytea not null check (length(artifact_commitment) = 32),
  artifact_bytes int not null check (artifact_bytes > 0),
  artifact_encoding text not null check (artifact_encoding in ('utf-8', 'base64')),
  artifact_media_type text not null,
  artifact_filename text,
  -- SHA-256 over the RFC 8785 form of the request that made it: the same body is answered with this listing for seven days.
  body_hash bytea not null check (length(body_hash) = 32),
  -- Null for the maintainer's free listings; a fee is spent by one listing.
  fee_id bigint unique,
  foreign key (seller_wallet, wallet_kind) references wallet_uses (wallet, kind),
  check ((state = 'removed') <= (removed_at is not null)),
  check ((state = 'withdrawn') <= (withdrawn_at is not null))
);
create index listings_live on listings (id desc) where state = 'live';
create index listings_live_by_aisle on listings (aisle, id desc) where state = 'live';
create index listings_of_merchant on listings (merchant_id, id desc);
create index listings_by_body on listings (merchant_id, body_hash, id desc);
create index listings_by_wallet on listings (seller_wallet);

-- When each listing was pinned, in the order of the acts. A walk of the shelves keeps the pins with which it began: otherwise a row
-- that was shown among the pinned would be shown again once it is unpinned.
create table pin_periods (
  listing_id bigint not null references listings,
  began bigint not null check (began > 0),
  ended bigint check (ended > began),
  primary key (listing_id, began)
);
create unique index pin_periods_one_open on pin_periods (listing_id) where ended is null;

create function note_pin() returns trigger language plpgsql as $$
declare
  act bigint;
begin
  -- Held until the commit, so that acts are numbered in the order of commits; readers do not wait for it.
  lock table pin_periods in share row exclusive mode;
  select coalesce(max(greatest(began, ended)), 0) + 1 into act from pin_periods;
  if new.pinned then
    insert into pin_periods (listing_id, began) values (new.id, act);
  else
    update pin_periods set ended = act where listing_id = new.id and ended is null;
  end if;
  return null;
end $$;
create trigger note_pin after update of pinned on listings
  for each row when (new.pinned <> old.pinned) execute function note_pin();
create trigger note_pin_at_start after insert on listings for each row when (new.pinned) execute function note_pin();

-- Kept apart from the public columns: no query of a shelf can reach the hidden goods by mistake.
create table artifacts (
  listing_id bigint primary key references listings,
  salt bytea not null check (length(salt) = 32),
  content bytea not null check (length(content) > 0)
);

-- Which listings their merchant has been told of: the first answer that names one is 201.
create table listing_answers (
  listing_id bigint primary key references listings,
  answered_at timestamptz not null
);

create function listing_terms_are_fixed() returns trigger language plpgsql as $$
begin
  if new.id <> old.id or new.merchant_id <> old.merchant_id or new.price_units <> old.price_units
     or new.seller_wallet <> old.seller_wallet or new.created_at <> old.created_at
     or new.fee_id is distinct from old.fee_id or new.body_hash <> old.body_hash then
    raise exception 'price, wallet and origin of a listing never change'
      using errcode = 'restrict_violation', constraint = 'listing_terms_are_fixed';
  end if;
  return new;
end $$;
create trigger listing_terms_are_fixed before update on listings for each row execute function listing_terms_are_fixed();

-- Things of a city: drafts, listings, checkouts, what the market knows of their offers, and the sales (W12).

-- The resident that a merchant names. A link needs the same from the city's side, so nobody is harmed by a name that is not true.
alter table merchants add column city_handle text check (city_handle ~ '^[a-z0-9][a-z0-9-]{2,31}$');

create table world_drafts (
  -- Given under the lock 'world_drafts'.
  id bigint primary key check (id > 0),
  merchant_id bigint not null references merchants,
  title text not null,
  description text not null,
  preview text not null,
  price_units bigint not null check (price_units between 1 and 10000000000),
  seller_wallet bytea not null check (length(seller_wallet) = 20),
  tags text[] not null,
  thing_id bigint not null check (thing_id > 0),
  -- 'expired' is written when somebody looks; until then a pending one is over when its time is.
  state text not null default 'pending' check (state in ('pending', 'fee_pending', 'listed', 'canceled', 'expired')),
  -- From the fee attempt on.
  offer_id bigint check (offer_id > 0),
  payment_id bigint references payments,
  listing_id bigint unique references listings,
  -- The wallet is held for things of the world from the fee attempt on, not from the draft.
  held_wallet bytea,
  held_kind text not null default 'world' check (held_kind = 'world'),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  ended_at timestamptz,
  foreign key (held_wallet, held_kind) references wallet_uses (wallet, kind),
  check (held_wallet is null or held_wallet = seller_wallet),
  check ((state in ('fee_pending', 'listed')) = (held_wallet is not null)),
  check ((state = 'listed') = (listing_id is not null)),
  check (state <> 'fee_pending' or (payment_id is not null and offer_id is not null)),
  check ((state in ('listed', 'canceled', 'expired')) = (ended_at is not null))
);
create unique index world_drafts_one_open on world_drafts (merchant_id) where state in ('pending', 'fee_pending');
create index world_drafts_of_merchant on world_drafts (merchant_id, id desc);
create index world_drafts_by_payment on world_drafts (payment_id) where payment_id is not null;
create index world_drafts_by_wallet on world_drafts (held_wallet) where held_wallet is not null;

-- The same steps as the table DRAFT_STEPS of the code.
create function world_drafts_step() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'a draft is never deleted' using errcode = 'restrict_violation', constraint = 'world_drafts_step';
  end if;
  if (new.id, new.merchant_id, new.title, new.description, new.preview, new.price_units, new.seller_wallet, new.tags, new.thing_id,
      new.created_at, new.expires_at) is distinct from
     (old.id, old.merchant_id, old.title, old.description, old.preview, old.price_units, old.seller_wallet, old.tags, old.thing_id,
      old.created_at, old.expires_at) then
    raise exception 'the terms of a draft never change' using errcode = 'restrict_violation', constraint = 'world_drafts_step';
  end if;
  if new.state <> old.state and not (
    (old.state = 'pending' and new.state in ('fee_pending', 'listed', 'canceled', 'expired'))
    or (old.state = 'fee_pending' and new.state in ('pending', 'listed', 'expired'))
  ) then
    raise exception 'a draft does not go from % to %', old.state, new.state
      using errcode = 'restrict_violation', constraint = 'world_drafts_step';
  end if;
  return new;
end $$;
create trigger world_drafts_step before update or delete on world_drafts for each row execute function world_drafts_step();

-- A listing is of goods or of a thing. A thing has no artifact here: it changes hands in its city.
alter table listings
  drop constraint listings_wallet_kind_check,
  alter column artifact_commitment drop not null,
  alter column artifact_bytes drop not null,
  alter column artifact_encoding drop not null,
  alter column artifact_media_type drop not null,
  add constraint listings_wallet_kind_check check (wallet_kind in ('ordinary', 'world')),
  add constraint listings_kind check (
    (wallet_kind = 'ordinary' and num_nulls(artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type) = 0
      and aisle <> 'world' and state not in ('sold', 'canceled', 'stale'))
    or (wallet_kind = 'world' and num_nonnulls(artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, artifact_filename) = 0
      and aisle = 'world' and supersedes is null and price_units > 0));

create function listing_kind_is_fixed() returns trigger language plpgsql as $$
begin
  raise exception 'a listing stays of its kind' using errcode = 'restrict_violation', constraint = 'listing_kind_is_fixed';
end $$;
create trigger listing_kind_is_fixed before update on listings for each row
  when (new.wallet_kind <> old.wallet_kind) execute function listing_kind_is_fixed();

-- What came of a thing's offer is recorded in whatever state the listing is: the buyer has paid. One that the market had given up as
-- lapsed is sold all the same, if the city shows the sale and the chain the transfer.
create or replace function listing_states_step() returns trigger language plpgsql as $$
begin
  if (new.withdrawn_at is distinct from old.withdrawn_at and not (old.state = 'live' and new.state = 'withdrawn'))
     or (new.state <> old.state and not (
       (old.state = 'live' and new.state in ('withdrawn', 'removed', 'sold', 'canceled', 'stale'))
       or (old.state = 'withdrawn' and new.state in ('removed', 'sold', 'canceled', 'stale'))
       or (old.state = 'removed' and new.state in ('sold', 'canceled', 'stale'))
       or (old.state = 'removed' and new.state = case when old.withdrawn_at is null then 'live' else 'withdrawn' end)
       or (old.state = 'stale' and new.state in ('sold', 'canceled'))
     )) then
    raise exception 'a listing that is % does not become %', old.state, new.state
      using errcode = 'restrict_violation', constraint = 'listing_states_step';
  end if;
  return new;
end $$;

create table world_listings (
  listing_id bigint primary key references listings,
  draft_id bigint not null unique references world_drafts,
  -- The origin of the city when it was listed: another city has other offers.
  city_origin text not null,
  offer_id bigint not null check (offer_id > 0),
  thing_id bigint not null check (thing_id > 0),
  seller_handle text not null,
  offer_url text not null,
  thing_url text not null,
  -- What the city said last, and when it was asked.
  phase text not null check (phase in ('listed', 'reserved', 'payment_pending', 'payment_invalid', 'payment_expired', 'founder_review',
    'claimed', 'canceled')),
  looked_at timestamptz not null,
  -- Since when the city shows another offer, or none: only what lasts makes a listing stale.
  differs_since timestamptz,
  -- The city calls it claimed, and the final transfer breaks a term. Preserved: nothing leads out of it.
  review_reason text,
  review_tx_hash bytea check (length(review_tx_hash) = 32),
  reviewed_at timestamptz,
  unique (city_origin, offer_id),
  check (num_nulls(review_reason, review_tx_hash, reviewed_at) in (0, 3))
);
create index world_listings_by_look on world_listings (looked_at);
create trigger note_world_listing after insert or update on world_listings for each row execute function note_listing_of();

create function world_listings_are_fixed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or (new.listing_id, new.draft_id, new.city_origin, new.offer_id, new.thing_id, new.seller_handle, new.offer_url, new.thing_url)
     is distinct from
     (old.listing_id, old.draft_id, old.city_origin, old.offer_id, old.thing_id, old.seller_handle, old.offer_url, old.thing_url)
     or (old.reviewed_at is not null and (new.review_reason, new.review_tx_hash, new.reviewed_at)
         is distinct from (old.review_reason, old.review_tx_hash, old.reviewed_at)) then
    raise exception 'what was listed of a city, and its review, never change'
      using errcode = 'restrict_violation', constraint = 'world_listings_are_fixed';
  end if;
  return new;
end $$;
create trigger world_listings_are_fixed before update or delete on world_listings for each row execute function world_listings_are_fixed();

create table world_checkouts (
  -- Given under the lock 'world_checkouts'.
  id bigint primary key check (id > 0),
  listing_id bigint not null references world_listings,
  merchant_id bigint not null references merchants,
  city_handle text not null,
  offer_id bigint not null,
  -- As for drafts, an open one is over when its time is.
  state text not null default 'open' check (state in ('open', 'expired', 'completed', 'closed')),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  unique (id, listing_id)
);
create unique index world_checkouts_one_open on world_checkouts (listing_id, merchant_id, city_handle) where state = 'open';
create index world_checkouts_of_listing on world_checkouts (listing_id, id desc);

-- The same steps as the table CHECKOUT_STEPS of the code. One that had run out is completed all the same: the reservation may outlast it.
create function world_checkouts_step() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or (new.id, new.listing_id, new.merchant_id, new.city_handle, new.offer_id, new.created_at, new.expires_at)
     is distinct from (old.id, old.listing_id, old.merchant_id, old.city_handle, old.offer_id, old.created_at, old.expires_at)
     or (new.state <> old.state and not (
       (old.state = 'open' and new.state in ('expired', 'completed', 'closed'))
       or (old.state in ('expired', 'closed') and new.state = 'completed'))) then
    raise exception 'a checkout does not change so' using errcode = 'restrict_violation', constraint = 'world_checkouts_step';
  end if;
  return new;
end $$;
create trigger world_checkouts_step before update or delete on world_checkouts for each row execute function world_checkouts_step();

-- The body of a world listing to be is short; what matters is its draft.
alter table pending_listings add column draft_id bigint references world_drafts;

-- A sale of a thing is proven by a transaction like any other, and by no payment of the market's own.
alter table payment_proofs
  drop constraint payment_proofs_purpose_check,
  alter column payment_id drop not null,
  add column world_listing_id bigint unique references world_listings,
  add constraint payment_proofs_purpose_check check (purpose in ('purchase', 'listing_fee', 'refund', 'city')),
  add constraint payment_proofs_of_city check (
    (purpose = 'city') = (payment_id is null) and (purpose = 'city') = (world_listing_id is not null)),
  add unique (tx_hash, world_listing_id);

-- Bought in the city: by a transfer that the market has seen for itself, for a checkout of its own. One sale for each thing listed.
alter table purchases
  drop constraint purchases_verified_via_check,
  drop constraint purchases_check1,
  drop constraint purchases_check2,
  drop constraint purchases_check4,
  add column world_listing_id bigint unique,
  add column checkout_id bigint unique,
  add column claimed_at timestamptz,
  add constraint purchases_verified_via_check check (verified_via in ('x402', 'direct', 'free', 'city')),
  add constraint purchases_paid_how check ((verified_via in ('free', 'city')) = (payment_id is null)),
  add constraint purchases_paid_by check ((verified_via = 'free') = (payer is null)),
  add constraint purchases_proof check (tx_hash is null or payment_id is not null or verified_via = 'city'),
  add constraint purchases_of_city check (
    (verified_via = 'city' and merchant_id is not null and world_listing_id = listing_id and price_units > 0 and paid_units >= price_units
      and num_nulls(tx_hash, block_number, checkout_id, claimed_at) = 0)
    or (verified_via <> 'city' and num_nonnulls(world_listing_id, checkout_id, claimed_at) = 0)),
  add foreign key (tx_hash, world_listing_id) references payment_proofs (tx_hash, world_listing_id),
  add foreign key (checkout_id, listing_id) references world_checkouts (id, listing_id);

-- A thing is sold when, and only when, there is its sale: looked at when the transaction commits.
create function sold_is_recorded() returns trigger language plpgsql as $$
begin
  if new.state = 'sold' and not exists (select from purchases where world_listing_id = new.id) then
    raise exception 'listing % is sold without a purchase', new.id
      using errcode = 'restrict_violation', constraint = 'sold_is_recorded';
  end if;
  return null;
end $$;
create constraint trigger sold_is_recorded after update of state on listings deferrable initially deferred
  for each row when (new.state = 'sold') execute function sold_is_recorded();

create function sale_is_shown() returns trigger language plpgsql as $$
begin
  if new.world_listing_id is not null and not exists (select from listings where id = new.world_listing_id and state = 'sold') then
    raise exception 'the sale of listing % is recorded, and it is not sold', new.world_listing_id
      using errcode = 'restrict_violation', constraint = 'sale_is_shown';
  end if;
  return null;
end $$;
create constraint trigger sale_is_shown after insert on purchases deferrable initially deferred
  for each row execute function sale_is_shown();

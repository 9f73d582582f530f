-- Offers of things, reservations, what was claimed for them, and what proved a sale (W12). Every rule about money is a constraint here
-- as well as code.

create table offers (
  -- Given under the lock 'offers'.
  id bigint primary key check (id > 0),
  thing_id bigint not null references things,
  seller_id bigint not null references residents,
  -- The terms of the draft on the market, as they were read when the offer was opened.
  price_units bigint not null check (price_units between 1 and 10000000000),
  seller_wallet bytea not null check (length(seller_wallet) = 20),
  market_origin text not null,
  market_draft_id bigint not null check (market_draft_id > 0),
  market_seller text not null,
  chain_id bigint not null,
  asset bytea not null check (length(asset) = 20),
  phase text not null default 'listed' check (phase in ('listed', 'reserved', 'payment_pending', 'payment_invalid', 'payment_expired',
    'founder_review', 'claimed', 'canceled')),
  market_listing_id bigint check (market_listing_id > 0),
  -- The reservation that holds it, or that ended it; a canceled offer keeps the last one.
  reservation_id bigint,
  -- Since when a payment is waited for: two hours at most.
  pending_since timestamptz,
  tx_hash bytea check (length(tx_hash) = 32),
  block_number bigint,
  block_time timestamptz,
  -- Why a payment was invalid, or is for a person to look at.
  end_reason text,
  created_at timestamptz not null,
  claimed_at timestamptz,
  canceled_at timestamptz,
  unique (market_origin, market_draft_id),
  unique (id, thing_id),
  check ((phase = 'claimed') = (claimed_at is not null)),
  check ((phase = 'canceled') = (canceled_at is not null)),
  check (phase in ('listed', 'canceled') or reservation_id is not null),
  check (phase <> 'payment_pending' or pending_since is not null),
  check (phase <> 'claimed' or num_nulls(tx_hash, block_number, block_time) = 0),
  check (num_nulls(tx_hash, block_number, block_time) in (0, 3))
);
-- A thing is under one offer at most until that one has been paid or canceled.
create unique index offers_one_open_per_thing on offers (thing_id) where phase not in ('claimed', 'canceled');
create index offers_to_look_at on offers (id) where phase in ('reserved', 'payment_pending');

-- The same steps as the table OFFER_STEPS of the code.
create function offers_step() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'an offer is never deleted' using errcode = 'restrict_violation', constraint = 'offers_step';
  end if;
  if (new.id, new.thing_id, new.seller_id, new.price_units, new.seller_wallet, new.market_origin, new.market_draft_id, new.market_seller,
      new.chain_id, new.asset, new.created_at)
     is distinct from
     (old.id, old.thing_id, old.seller_id, old.price_units, old.seller_wallet, old.market_origin, old.market_draft_id, old.market_seller,
      old.chain_id, old.asset, old.created_at)
     or (old.market_listing_id is not null and new.market_listing_id is distinct from old.market_listing_id) then
    raise exception 'the terms of an offer never change' using errcode = 'restrict_violation', constraint = 'offers_step';
  end if;
  if old.phase in ('claimed', 'canceled') then
    raise exception 'an offer that has ended stays as it ended' using errcode = 'restrict_violation', constraint = 'offers_step';
  end if;
  if new.phase <> old.phase and not (
    (old.phase = 'listed' and new.phase in ('reserved', 'canceled'))
    or (old.phase = 'reserved' and new.phase in ('listed', 'payment_pending', 'payment_invalid', 'claimed'))
    or (old.phase = 'payment_pending' and new.phase in ('claimed', 'payment_invalid', 'payment_expired', 'founder_review'))
    or (old.phase in ('payment_invalid', 'payment_expired', 'founder_review') and new.phase = 'canceled')
  ) then
    raise exception 'an offer does not go from % to %', old.phase, new.phase
      using errcode = 'restrict_violation', constraint = 'offers_step';
  end if;
  -- Who holds it changes only when a new reservation begins.
  if new.reservation_id is distinct from old.reservation_id and not (old.phase = 'listed' and new.phase = 'reserved')
     and not (old.phase = 'reserved' and new.phase = 'listed' and new.reservation_id is null) then
    raise exception 'a reservation is not handed on' using errcode = 'restrict_violation', constraint = 'offers_step';
  end if;
  return new;
end $$;
create trigger offers_step before update or delete on offers for each row execute function offers_step();

create table reservations (
  id bigint generated always as identity primary key,
  offer_id bigint not null references offers,
  resident_id bigint not null references residents,
  market_checkout_id bigint not null check (market_checkout_id > 0),
  market_buyer text not null,
  payer_wallet bytea not null check (length(payer_wallet) = 20),
  -- A transfer counts whose block time is in [reserved_at, reserved_until): whole seconds, five minutes exactly.
  reserved_at timestamptz not null check (date_trunc('second', reserved_at) = reserved_at),
  reserved_until timestamptz not null check (reserved_until = reserved_at + interval '300 seconds'),
  -- The finalized block when it was made: nothing below it can be of that time.
  opened_block bigint not null check (opened_block >= 0),
  nonce text not null,
  challenge text not null,
  -- A transfer that fits was seen in a block, be it for a moment.
  seen_tx_hash bytea check (length(seen_tx_hash) = 32),
  lapsed_at timestamptz,
  created_at timestamptz not null,
  unique (id, offer_id)
);
create index reservations_of_offer on reservations (offer_id, id desc);
create index reservations_of_resident on reservations (resident_id, offer_id, id desc);
alter table offers add foreign key (reservation_id, id) references reservations (id, offer_id);

create function reservations_are_fixed() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE'
     or to_jsonb(new) - '{seen_tx_hash,lapsed_at}'::text[] <> to_jsonb(old) - '{seen_tx_hash,lapsed_at}'::text[]
     or (old.lapsed_at is not null and new.lapsed_at is distinct from old.lapsed_at)
     or (old.seen_tx_hash is not null and new.seen_tx_hash is null) then
    raise exception 'what was reserved stays so' using errcode = 'restrict_violation', constraint = 'reservations_are_fixed';
  end if;
  return new;
end $$;
create trigger reservations_are_fixed before update or delete on reservations for each row execute function reservations_are_fixed();

-- Transactions that the holder named, with a signature that was good: they are looked at until one decides. At most five.
create table claims (
  reservation_id bigint not null references reservations,
  tx_hash bytea not null check (length(tx_hash) = 32),
  named_at timestamptz not null,
  -- Null while undecided; why it decides nothing otherwise.
  refused text,
  primary key (reservation_id, tx_hash)
);

create function claims_are_few() returns trigger language plpgsql as $$
begin
  if (select count(*) from claims where reservation_id = new.reservation_id and refused is null) > 5 then
    raise exception 'a reservation has five undecided claims at most' using errcode = 'restrict_violation', constraint = 'claims_are_few';
  end if;
  return null;
end $$;
create trigger claims_are_few after insert or update on claims for each row execute function claims_are_few();

-- One transaction proves one sale.
create table sale_proofs (
  tx_hash bytea primary key check (length(tx_hash) = 32),
  offer_id bigint not null unique references offers,
  reservation_id bigint not null,
  block_number bigint not null,
  block_hash bytea not null check (length(block_hash) = 32),
  block_time timestamptz not null,
  log_index int not null,
  value_units bigint not null check (value_units > 0),
  written_at timestamptz not null,
  foreign key (reservation_id, offer_id) references reservations (id, offer_id)
);
create trigger sale_proofs_only_grow before update or delete on sale_proofs for each row execute function history_only_grows();
create trigger sale_proofs_never_truncated before truncate on sale_proofs for each statement execute function history_only_grows();
alter table thing_owners add foreign key (offer_id, thing_id) references offers (id, thing_id);

-- Claimed means: proven by a transfer inside the window of its own reservation, and the thing is the buyer's. Looked at on commit.
create function claimed_is_proven() returns trigger language plpgsql as $$
begin
  if new.phase = 'claimed' and old.phase <> 'claimed' and not exists (
    select from sale_proofs p join reservations r on r.id = p.reservation_id
      join thing_owners o on o.offer_id = new.id and o.thing_id = new.thing_id and o.owner_id = r.resident_id
    where p.offer_id = new.id and p.reservation_id = new.reservation_id and p.tx_hash = new.tx_hash
      and p.block_time >= r.reserved_at and p.block_time < r.reserved_until and p.value_units >= new.price_units
  ) then
    raise exception 'offer % is claimed without a proof', new.id
      using errcode = 'restrict_violation', constraint = 'claimed_is_proven';
  end if;
  return null;
end $$;
create constraint trigger claimed_is_proven after update on offers deferrable initially deferred
  for each row execute function claimed_is_proven();

-- The owner of a thing under offer stays; it changes by that very offer's sale.
create function locked_things_stay() returns trigger language plpgsql as $$
begin
  if exists (select from offers where thing_id = new.id and phase not in ('claimed', 'canceled')) then
    raise exception 'thing % is under offer', new.id using errcode = 'restrict_violation', constraint = 'locked_things_stay';
  end if;
  return null;
end $$;
create constraint trigger locked_things_stay after update of owner_id on things deferrable initially deferred
  for each row when (new.owner_id <> old.owner_id) execute function locked_things_stay();

-- The highest finalized block that was ever accepted; it never goes back.
create table chain_watermarks (
  chain_id bigint primary key,
  block_number bigint not null,
  block_hash bytea not null check (length(block_hash) = 32),
  block_time timestamptz not null,
  accepted_at timestamptz not null
);
create function watermark_never_goes_back() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or new.block_number < old.block_number
     or (new.block_number = old.block_number and new.block_hash <> old.block_hash) then
    raise exception 'the watermark never goes back' using errcode = 'restrict_violation', constraint = 'watermark_never_goes_back';
  end if;
  return new;
end $$;
create trigger watermark_never_goes_back before update or delete on chain_watermarks
  for each row execute function watermark_never_goes_back();

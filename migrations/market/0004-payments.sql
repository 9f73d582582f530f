-- The money core (W7, W9). Every rule about money is a constraint here as well as code.

create table payments (
  id bigint generated always as identity primary key,
  purpose text not null check (purpose in ('purchase', 'listing_fee')),
  path text not null check (path in ('x402')),
  status text not null check (status in ('verifying', 'settling', 'completed', 'unpaid', 'needs_review', 'rejected')),
  -- What is paid for: a listing, or the body of a listing to be.
  listing_id bigint references listings,
  merchant_id bigint references merchants,
  body_hash bytea check (length(body_hash) = 32),
  -- The amount in flight is stored with the attempt: a changed configuration never breaks a retry.
  chain_id bigint not null,
  asset bytea not null check (length(asset) = 20),
  payee bytea not null check (length(payee) = 20),
  payer bytea not null check (length(payer) = 20),
  value_units bigint not null check (value_units > 0),
  nonce bytea not null check (length(nonce) = 32),
  valid_after bigint not null,
  valid_before bigint not null,
  -- The finalized block when the row was opened, when the nonce was still unused at the head: only a transfer in a later block
  -- counts, and no reorganisation can move one to this block or below.
  opened_block bigint not null check (opened_block >= 0),
  delivery_token_hash bytea unique check (length(delivery_token_hash) = 32),
  -- When the facilitator had last said who its signers are; null: it had never answered.
  signers_read_at timestamptz,
  -- The transaction came from none of the facilitator's published signers: only the payer's own signature collects.
  payer_collects_only boolean not null default false,
  -- Last sighting on the chain; a reorganisation may clear it again.
  tx_hash bytea check (length(tx_hash) = 32),
  block_number bigint,
  block_time timestamptz,
  end_reason text,
  created_at timestamptz not null,
  settling_at timestamptz,
  ended_at timestamptz,
  updated_at timestamptz not null,
  check ((purpose = 'purchase') = (listing_id is not null)),
  check ((purpose = 'listing_fee') = (body_hash is not null)),
  check (purpose = 'purchase' or merchant_id is not null),
  check ((status in ('completed', 'unpaid', 'needs_review', 'rejected')) = (ended_at is not null)),
  check ((status in ('unpaid', 'needs_review', 'rejected')) = (end_reason is not null)),
  check ((tx_hash is null) = (block_number is null) and (tx_hash is null) = (block_time is null)),
  check (status <> 'settling' or settling_at is not null)
);
-- An authorization belongs for ever to the request that opened it.
create unique index payments_one_per_authorization on payments (chain_id, asset, payer, nonce);
-- One payment of a listing per payer and per merchant that has not ended unpaid. A completed one counts: nobody pays twice.
create unique index payments_one_per_payer on payments (listing_id, payer)
  where purpose = 'purchase' and status not in ('unpaid', 'rejected');
create unique index payments_one_per_merchant on payments (listing_id, merchant_id)
  where purpose = 'purchase' and merchant_id is not null and status not in ('unpaid', 'rejected');
-- One undecided fee per merchant and body.
create unique index payments_one_fee_per_body on payments (merchant_id, body_hash)
  where purpose = 'listing_fee' and status in ('verifying', 'settling', 'needs_review');
create index payments_open on payments (id) where status in ('verifying', 'settling');

create function payments_move_forward() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'a payment is never deleted' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if (new.purpose, new.path, new.listing_id, new.merchant_id, new.body_hash, new.chain_id, new.asset, new.payee, new.payer,
      new.value_units, new.nonce, new.valid_after, new.valid_before, new.opened_block, new.delivery_token_hash,
      new.signers_read_at, new.created_at)
     is distinct from
     (old.purpose, old.path, old.listing_id, old.merchant_id, old.body_hash, old.chain_id, old.asset, old.payee, old.payer,
      old.value_units, old.nonce, old.valid_after, old.valid_before, old.opened_block, old.delivery_token_hash,
      old.signers_read_at, old.created_at) then
    raise exception 'the terms of a payment never change' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if old.status in ('completed', 'unpaid', 'rejected') then
    raise exception 'a payment that has ended stays as it ended' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if new.status <> old.status and not (
    (old.status = 'verifying' and new.status in ('settling', 'unpaid', 'completed', 'needs_review'))
    or (old.status = 'settling' and new.status in ('completed', 'unpaid', 'needs_review'))
    or (old.status = 'needs_review' and new.status in ('completed', 'rejected'))
  ) then
    raise exception 'a payment does not go from % to %', old.status, new.status
      using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  return new;
end $$;
create trigger payments_move_forward before update or delete on payments for each row execute function payments_move_forward();

create function payments_begin_open() returns trigger language plpgsql as $$
begin
  if new.status <> 'verifying' then
    raise exception 'a payment begins as verifying' using errcode = 'restrict_violation', constraint = 'payments_begin_open';
  end if;
  return new;
end $$;
create trigger payments_begin_open before insert on payments for each row execute function payments_begin_open();

-- The exact body of a listing whose fee is on its way; it goes when the attempt ends.
create table pending_listings (
  payment_id bigint primary key references payments,
  merchant_id bigint not null references merchants,
  body bytea not null
);

-- One transaction proves one thing, whatever the thing is. Written only in the transaction that delivers or opens a review.
create table payment_proofs (
  tx_hash bytea primary key check (length(tx_hash) = 32),
  purpose text not null check (purpose in ('purchase', 'listing_fee')),
  payment_id bigint not null unique references payments,
  block_number bigint not null,
  block_hash bytea not null check (length(block_hash) = 32),
  block_time timestamptz not null,
  log_index int not null,
  written_at timestamptz not null,
  unique (tx_hash, payment_id)
);

-- Completed without a proof cannot be: looked at when the transaction commits.
create function completed_is_proven() returns trigger language plpgsql as $$
begin
  if new.status = 'completed' and not exists (select from payment_proofs where payment_id = new.id) then
    raise exception 'payment % is completed without a proof', new.id
      using errcode = 'restrict_violation', constraint = 'completed_is_proven';
  end if;
  return null;
end $$;
create constraint trigger completed_is_proven after update on payments deferrable initially deferred
  for each row execute function completed_is_proven();

-- The books of the treasury: gapless ids and a running total under the lock 'listings'.
create table fees (
  id bigint primary key check (id > 0),
  merchant_id bigint not null references merchants,
  payment_id bigint not null unique references payments,
  amount_units bigint not null check (amount_units > 0),
  running_units bigint not null,
  tx_hash bytea not null unique,
  verified_via text not null check (verified_via in ('x402', 'direct')),
  block_time timestamptz not null,
  created_at timestamptz not null,
  -- The proof is that of this very payment.
  foreign key (tx_hash, payment_id) references payment_proofs (tx_hash, payment_id),
  unique (id, merchant_id)
);
create index fees_of_merchant on fees (merchant_id, id);
-- A merchant spends its own fees.
alter table listings add foreign key (fee_id, merchant_id) references fees (id, merchant_id);

create table purchases (
  -- Given under a lock of the merchant that buys and of the one that sells, so that walks of either see rows in commit order.
  id bigint generated always as identity primary key,
  listing_id bigint not null references listings,
  merchant_id bigint references merchants,
  payer bytea check (length(payer) = 20),
  payment_id bigint unique references payments,
  price_units bigint not null,
  paid_units bigint not null,
  tx_hash bytea unique,
  block_number bigint,
  verified_via text not null check (verified_via in ('x402', 'direct', 'free')),
  payer_collects_only boolean not null default false,
  created_at timestamptz not null,
  foreign key (tx_hash, payment_id) references payment_proofs (tx_hash, payment_id),
  check (merchant_id is not null or payer is not null),
  check ((verified_via = 'free') = (payment_id is null)),
  check ((payment_id is null) = (tx_hash is null) and (payment_id is null) = (payer is null)),
  check (verified_via <> 'free' or (price_units = 0 and paid_units = 0))
);
create unique index purchases_one_per_merchant on purchases (listing_id, merchant_id) where merchant_id is not null;
create unique index purchases_one_per_payer on purchases (listing_id, payer) where payer is not null;
create index purchases_of_merchant on purchases (merchant_id, id desc) where merchant_id is not null;
create index purchases_of_listing on purchases (listing_id, id desc);

create function books_only_grow() returns trigger language plpgsql as $$
begin
  raise exception '% only grows', tg_table_name using errcode = 'restrict_violation', constraint = tg_table_name || '_only_grow';
end $$;
create trigger payments_never_truncated before truncate on payments for each statement execute function books_only_grow();
create trigger payment_proofs_only_grow before update or delete on payment_proofs for each row execute function books_only_grow();
create trigger payment_proofs_never_truncated before truncate on payment_proofs for each statement execute function books_only_grow();
create trigger fees_only_grow before update or delete on fees for each row execute function books_only_grow();
create trigger fees_never_truncated before truncate on fees for each statement execute function books_only_grow();
create trigger purchases_only_grow before update or delete on purchases for each row execute function books_only_grow();
create trigger purchases_never_truncated before truncate on purchases for each statement execute function books_only_grow();

-- The same goods are listed once in seven days; a body whose fee is undecided holds its place.
create table artifact_guards (
  guard_key bytea primary key check (length(guard_key) = 32),
  merchant_id bigint not null references merchants,
  listing_id bigint references listings,
  payment_id bigint references payments,
  expires_at timestamptz not null,
  check (num_nonnulls(listing_id, payment_id) = 1)
);
create index artifact_guards_of_payment on artifact_guards (payment_id) where payment_id is not null;

-- Addresses from which the facilitator said that it settles, and until when it said so.
create table facilitator_signers (
  chain_id bigint not null,
  address bytea not null check (length(address) = 20),
  first_seen_at timestamptz not null,
  last_seen_at timestamptz not null,
  primary key (chain_id, address)
);

-- The last time a facilitator answered who they are, and how many it named: with none the rule on signers is off.
create table facilitator_readings (
  chain_id bigint not null,
  url text not null,
  read_at timestamptz not null,
  published int not null check (published >= 0),
  primary key (chain_id, url)
);

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

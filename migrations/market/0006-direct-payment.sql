-- Direct payment (W8): an intent says what may be paid and until when, a claim shows the transfer, a person decides what does not fit.

create table payment_intents (
  id bytea primary key check (length(id) = 16),
  purpose text not null check (purpose in ('purchase', 'listing_fee')),
  listing_id bigint references listings,
  merchant_id bigint not null references merchants,
  chain_id bigint not null,
  asset bytea not null check (length(asset) = 20),
  payee bytea not null check (length(payee) = 20),
  -- Null: the wallet that signs the challenge.
  payer bytea check (length(payer) = 20),
  minimum_units bigint not null check (minimum_units > 0),
  nonce bytea not null check (length(nonce) = 16),
  -- Exactly what has to be signed; every other column stands in it.
  challenge text not null,
  created_at timestamptz not null check (date_trunc('second', created_at) = created_at),
  expires_at timestamptz not null check (expires_at = created_at + interval '10 minutes'),
  check ((purpose = 'purchase') = (listing_id is not null)),
  -- So that a claim can point at the very terms it was made for.
  unique (id, purpose, merchant_id, chain_id, asset, payee, minimum_units)
);
create index payment_intents_newest on payment_intents (merchant_id, listing_id, created_at desc);

create trigger payment_intents_only_grow before update or delete on payment_intents for each row execute function books_only_grow();
create trigger payment_intents_never_truncated before truncate on payment_intents for each statement execute function books_only_grow();

alter table payments drop constraint payments_path_check;
alter table payments add check (path in ('x402', 'direct'));
alter table payments alter column nonce drop not null, alter column valid_after drop not null,
  alter column valid_before drop not null, alter column opened_block drop not null;
alter table payments add check ((path = 'x402') = (nonce is not null)), add check ((path = 'x402') = (valid_after is not null)),
  add check ((path = 'x402') = (valid_before is not null)), add check ((path = 'x402') = (opened_block is not null));

alter table payments add column intent_id bytea,
  -- The transfer's block time must lie in [window_from, window_to).
  add column window_from timestamptz, add column window_to timestamptz,
  -- The goods were this merchant's or this payer's when the claim came: its transfer can only be reviewed.
  add column surplus boolean not null default false,
  -- What a review came to, and the transfer that paid the money back.
  add column review_outcome text check (review_outcome in ('deliver', 'refunded', 'declined')),
  add column reviewed_by bigint references merchants, add column review_note text, add column reviewed_at timestamptz;
-- One that was delivered after a review keeps what it was reviewed for.
alter table payments drop constraint payments_check4;
alter table payments add check ((status in ('unpaid', 'needs_review', 'rejected')) <= (end_reason is not null)),
  -- Null in a check is no refusal, hence coalesce.
  add check (status in ('unpaid', 'needs_review', 'rejected') or end_reason is null or coalesce(review_outcome = 'deliver', false));
alter table payments add check ((path = 'direct') = (intent_id is not null)), add check ((path = 'direct') = (window_from is not null)),
  add check ((path = 'direct') = (window_to is not null)), add check (path = 'x402' or merchant_id is not null),
  add check (path = 'direct' or not surplus), add check ((review_outcome is null) = (reviewed_at is null)),
  add check ((status = 'rejected') = coalesce(review_outcome in ('refunded', 'declined'), false)),
  add check (status = 'completed' or coalesce(review_outcome <> 'deliver', true)),
  add check (review_outcome is null or end_reason is not null),
  add foreign key (intent_id, purpose, merchant_id, chain_id, asset, payee, value_units)
    references payment_intents (id, purpose, merchant_id, chain_id, asset, payee, minimum_units);

-- A claim on goods that were bought meanwhile stands beside the purchase.
drop index payments_one_per_payer, payments_one_per_merchant;
create unique index payments_one_per_payer on payments (listing_id, payer)
  where purpose = 'purchase' and status not in ('unpaid', 'rejected') and not surplus;
create unique index payments_one_per_merchant on payments (listing_id, merchant_id)
  where purpose = 'purchase' and merchant_id is not null and status not in ('unpaid', 'rejected') and not surplus;
-- One claim per intent; after one that ended unpaid it can be claimed anew.
create unique index payments_one_per_intent on payments (intent_id) where status not in ('unpaid', 'rejected');
create index payments_of_intent on payments (intent_id, id desc) where intent_id is not null;
create index payments_in_review on payments (ended_at) where status = 'needs_review';

-- The transactions that a claim names; at most five of them undecided.
create table claim_hashes (
  payment_id bigint not null references payments,
  tx_hash bytea not null check (length(tx_hash) = 32),
  -- In the order in which they were named.
  place bigint generated always as identity,
  -- The last block in which it was seen; null: no receipt yet.
  seen_block bigint,
  -- Why it proves nothing; it can be named again.
  refused_reason text,
  primary key (payment_id, tx_hash)
);
create function claim_hashes_are_few() returns trigger language plpgsql as $$
begin
  if (select count(*) from claim_hashes where payment_id = new.payment_id and refused_reason is null) > 5 then
    raise exception 'a claim names at most five transactions' using errcode = 'restrict_violation', constraint = 'claim_hashes_are_few';
  end if;
  return null;
end $$;
create trigger claim_hashes_are_few after insert or update on claim_hashes for each row execute function claim_hashes_are_few();

-- What the payee received by it, in units: a tip makes it more than the price.
alter table payment_proofs add column value_units bigint check (value_units > 0);
alter table payment_proofs disable trigger payment_proofs_only_grow;
update payment_proofs set value_units = payments.value_units from payments where payments.id = payment_proofs.payment_id;
alter table payment_proofs enable trigger payment_proofs_only_grow;
alter table payment_proofs alter column value_units set not null;

-- A refund is a proof of its own, for the payment that it gives back.
alter table payment_proofs drop constraint payment_proofs_purpose_check, drop constraint payment_proofs_payment_id_key;
alter table payment_proofs add check (purpose in ('purchase', 'listing_fee', 'refund'));
create unique index payment_proofs_one_per_payment on payment_proofs (payment_id) where purpose <> 'refund';
create unique index payment_proofs_one_refund_per_payment on payment_proofs (payment_id) where purpose = 'refund';

-- Two payments in one transaction: it proves the first, and the seller may deliver on the second without a proof of its own.
alter table purchases drop constraint purchases_check2;
alter table purchases add check ((payment_id is null) = (payer is null)), add check (tx_hash is null or payment_id is not null);

-- A completed payment has its proof, and so has one in review, unless another payment in the same transaction has it.
create or replace function completed_is_proven() returns trigger language plpgsql as $$
begin
  if new.status in ('completed', 'needs_review')
     and not exists (select from payment_proofs where payment_id = new.id and purpose = new.purpose)
     and not (new.end_reason is not distinct from 'transaction_used'
              and exists (select from payment_proofs where tx_hash = new.tx_hash)) then
    raise exception 'payment % is % without a proof', new.id, new.status
      using errcode = 'restrict_violation', constraint = 'completed_is_proven';
  end if;
  if new.review_outcome = 'refunded' and not exists (select from payment_proofs where payment_id = new.id and purpose = 'refund') then
    raise exception 'payment % is refunded without a proof', new.id
      using errcode = 'restrict_violation', constraint = 'completed_is_proven';
  end if;
  return null;
end $$;

-- What a payment gives is given in the transaction that completes it, or that ends its review: looked at when it commits.
create function books_are_paid() returns trigger language plpgsql as $$
begin
  if new.payment_id is not null and not exists (
    select from payments p where p.id = new.payment_id and p.status = 'completed'
      and (new.tx_hash is not null or p.end_reason is not distinct from 'transaction_used')
  ) then
    raise exception '%: payment % is not completed', tg_table_name, new.payment_id
      using errcode = 'restrict_violation', constraint = tg_table_name || '_are_paid';
  end if;
  return null;
end $$;
create constraint trigger purchases_are_paid after insert on purchases deferrable initially deferred
  for each row execute function books_are_paid();
create constraint trigger fees_are_paid after insert on fees deferrable initially deferred
  for each row execute function books_are_paid();

create or replace function payments_move_forward() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'a payment is never deleted' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if (new.purpose, new.path, new.listing_id, new.merchant_id, new.body_hash, new.chain_id, new.asset, new.payee,
      new.value_units, new.nonce, new.valid_after, new.valid_before, new.opened_block, new.delivery_token_hash,
      new.signers_read_at, new.created_at, new.intent_id, new.window_from, new.window_to, new.surplus)
     is distinct from
     (old.purpose, old.path, old.listing_id, old.merchant_id, old.body_hash, old.chain_id, old.asset, old.payee,
      old.value_units, old.nonce, old.valid_after, old.valid_before, old.opened_block, old.delivery_token_hash,
      old.signers_read_at, old.created_at, old.intent_id, old.window_from, old.window_to, old.surplus) then
    raise exception 'the terms of a payment never change' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  -- Who signs a claim is bound by the transfer, where the intent named no wallet.
  if new.payer <> old.payer and not (old.path = 'direct' and old.status = 'settling' and new.status = 'settling'
     and exists (select from payment_intents i where i.id = old.intent_id and i.payer is null)) then
    raise exception 'the payer of this payment never changes' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if old.status in ('completed', 'unpaid', 'rejected') then
    raise exception 'a payment that has ended stays as it ended' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  -- A review ends with an outcome, and changes nothing of what was found before.
  if (new.review_outcome is not null) <> (old.status = 'needs_review' and new.status <> old.status) then
    raise exception 'a payment is decided on when its review ends' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if old.status = 'needs_review' and (new.end_reason, new.tx_hash, new.block_number, new.block_time, new.ended_at, new.payer_collects_only)
     is distinct from (old.end_reason, old.tx_hash, old.block_number, old.block_time, old.ended_at, old.payer_collects_only) then
    raise exception 'a review changes nothing of what was found' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
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

-- A claim has nothing to verify before it may be on the chain; the wallet that it is bound to is the one that the intent names.
create or replace function payments_begin_open() returns trigger language plpgsql as $$
declare
  named bytea;
begin
  if new.status <> (case new.path when 'x402' then 'verifying' else 'settling' end) then
    raise exception 'a payment begins open' using errcode = 'restrict_violation', constraint = 'payments_begin_open';
  end if;
  if new.path = 'direct' then
    select payer into named from payment_intents where id = new.intent_id;
    if named is not null and named <> new.payer then
      raise exception 'the intent names another payer' using errcode = 'restrict_violation', constraint = 'payments_begin_open';
    end if;
    if not exists (select from payment_intents where id = new.intent_id and listing_id is not distinct from new.listing_id
                   and created_at = new.window_from and expires_at = new.window_to) then
      raise exception 'a claim has the terms of its intent' using errcode = 'restrict_violation', constraint = 'payments_begin_open';
    end if;
  end if;
  return new;
end $$;

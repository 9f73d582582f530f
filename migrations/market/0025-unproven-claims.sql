-- compatible: older code
-- A transfer by a contract wallet that cannot sign: its claim goes to the payee a day later. It is no payment as long as nobody has decided:
-- it proves nothing and takes no place, so that nobody can block or take by it what another one sent.

-- A named contract is recognised by this amount: a little more than the price, drawn for this intent.
alter table payment_intents add column exact_units bigint;
alter table payment_intents add constraint payment_intents_exact_amount
  check (exact_units > minimum_units and exact_units < minimum_units + 10000) not valid;

create table unproven_claims (
  -- A number of payments: it is one if the payee takes it as paid, or gives it back.
  id bigint primary key default nextval('payments_id_seq'),
  intent_id bytea not null unique references payment_intents,
  merchant_id bigint not null references merchants,
  listing_id bigint references listings,
  body_hash bytea check (length(body_hash) = 32),
  payer bytea not null check (length(payer) = 20),
  -- The transfer, final when this was written.
  tx_hash bytea not null check (length(tx_hash) = 32),
  log_index int not null,
  block_number bigint not null,
  block_hash bytea not null check (length(block_hash) = 32),
  block_time timestamptz not null,
  value_units bigint not null check (value_units > 0),
  created_at timestamptz not null check (created_at >= block_time + interval '24 hours'),
  -- `proven`: the wallet's own signature came. `superseded`: the transfer pays for another claim.
  outcome text check (outcome in ('deliver', 'refunded', 'declined', 'proven', 'superseded')),
  ended_at timestamptz,
  decided_by bigint references merchants,
  note text,
  check ((listing_id is null) = (body_hash is not null)),
  check ((ended_at is null) = (outcome is null)),
  check (outcome is not null or (decided_by is null and note is null)),
  -- One merchant claims a transaction once, whatever became of it.
  unique (tx_hash, merchant_id)
);
create index unproven_claims_open on unproven_claims (merchant_id) where ended_at is null;
create index unproven_claims_in_review on unproven_claims (created_at, id) where ended_at is null;

create function unproven_claims_begin() returns trigger language plpgsql security definer set search_path from current as $$
begin
  if new.outcome is not null or not exists (select from payment_intents i where i.id = new.intent_id and i.payer = new.payer
      and i.merchant_id = new.merchant_id and i.listing_id is not distinct from new.listing_id and new.value_units >= i.minimum_units
      and new.block_time >= i.created_at and new.block_time < i.expires_at) then
    raise exception 'an unproven claim has the terms of its intent, which names its wallet'
      using errcode = 'restrict_violation', constraint = 'unproven_claims_begin';
  end if;
  if exists (select from payment_proofs where tx_hash = new.tx_hash) then
    raise exception 'the transaction proves something' using errcode = 'restrict_violation', constraint = 'unproven_claims_begin';
  end if;
  if (select count(*) from unproven_claims where merchant_id = new.merchant_id and ended_at is null) >= 3 then
    raise exception 'a merchant has at most three of them' using errcode = 'restrict_violation', constraint = 'unproven_claims_are_few';
  end if;
  return new;
end $$;
create trigger unproven_claims_begin before insert on unproven_claims for each row execute function unproven_claims_begin();

create function unproven_claims_end_once() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' or old.outcome is not null
     or (new.id, new.intent_id, new.merchant_id, new.listing_id, new.body_hash, new.payer, new.tx_hash, new.log_index, new.block_number,
         new.block_hash, new.block_time, new.value_units, new.created_at)
       is distinct from (old.id, old.intent_id, old.merchant_id, old.listing_id, old.body_hash, old.payer, old.tx_hash, old.log_index,
         old.block_number, old.block_hash, old.block_time, old.value_units, old.created_at) then
    raise exception 'an unproven claim ends once, and nothing else of it changes'
      using errcode = 'restrict_violation', constraint = 'unproven_claims_end_once';
  end if;
  return new;
end $$;
create trigger unproven_claims_end_once before update or delete on unproven_claims for each row execute function unproven_claims_end_once();
create trigger unproven_claims_never_truncated before truncate on unproven_claims for each statement execute function books_only_grow();
create trigger a_history_is_whole before insert or update on unproven_claims for each row execute function history_is_whole();

-- Delivered or given back, it is a payment with a proof, and so is what ended it as `deliver` or `refunded`: looked at when it commits.
create function unproven_claims_are_decided() returns trigger language plpgsql security definer set search_path from current as $$
begin
  if not exists (select from payments p where p.id = new.id and p.review_outcome = new.outcome and p.tx_hash = new.tx_hash) then
    raise exception 'unproven claim % ended as % without such a payment', new.id, new.outcome
      using errcode = 'restrict_violation', constraint = 'unproven_claims_are_decided';
  end if;
  return null;
end $$;
create constraint trigger unproven_claims_are_decided after update on unproven_claims deferrable initially deferred
  for each row when (new.outcome in ('deliver', 'refunded')) execute function unproven_claims_are_decided();

-- A review is in the books here, too.
create or replace function is_in_the_books(kind text, at timestamptz, actor text, detail jsonb) returns boolean language plpgsql stable as $$
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
      or exists (
      select from unproven_claims u where u.id = payment and u.listing_id is not null and u.outcome = detail->>'outcome'
        and u.ended_at between earliest and latest)
      -- Nobody decided in time: the system declines a fee as well.
      or (actor = 'system' and exists (
      select from unproven_claims u where u.id = payment and u.outcome = detail->>'outcome' and u.ended_at between earliest and latest))
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
        or exists (
        select from unproven_claims u where u.id = payment and u.listing_id is null and u.outcome = detail->>'outcome'
          and u.ended_at between earliest and latest)
      else false end
    else false end;
end $$;

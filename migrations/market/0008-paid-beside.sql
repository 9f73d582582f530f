-- A second transfer for one intent: it gets a payment of its own, in review, beside the claim for which it was named.

-- It proves its payment; nothing is to be found out about it any more.
alter table claim_hashes add column proven boolean not null default false;
update claim_hashes h set proven = true from payment_proofs f where f.tx_hash = h.tx_hash and f.payment_id = h.payment_id;
create index claim_hashes_undecided on claim_hashes (payment_id, tx_hash) where refused_reason is null and not proven;

create or replace function claim_hashes_are_few() returns trigger language plpgsql as $$
begin
  if (select count(*) from claim_hashes where payment_id = new.payment_id and refused_reason is null and not proven) > 5 then
    raise exception 'a claim names at most five transactions' using errcode = 'restrict_violation', constraint = 'claim_hashes_are_few';
  end if;
  return null;
end $$;

-- The claim of the same intent that was decided on first. Nothing is sold by what stands beside it.
alter table payments add column beside bigint references payments, add check (beside is null or (path = 'direct' and surplus));
drop index payments_one_per_intent;
create unique index payments_one_per_intent on payments (intent_id)
  where status not in ('unpaid', 'rejected') and beside is null;
drop index payments_one_fee_per_body;
create unique index payments_one_fee_per_body on payments (merchant_id, body_hash)
  where purpose = 'listing_fee' and status in ('verifying', 'settling', 'needs_review') and beside is null;

-- It is the same wallet's, for the same intent, and is in review by the time that the transaction which makes it commits.
create function beside_is_in_review() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' then
    if new.beside is distinct from old.beside then
      raise exception 'the terms of a payment never change' using errcode = 'restrict_violation', constraint = 'beside_is_in_review';
    end if;
    return null;
  end if;
  if not exists (select from payments p join payments claim on claim.id = p.beside where p.id = new.id
      and p.status <> 'settling' and claim.status in ('completed', 'needs_review', 'rejected') and claim.beside is null
      and claim.intent_id = p.intent_id and claim.payer = p.payer) then
    raise exception 'payment % stands beside no decided claim, or is not in review', new.id
      using errcode = 'restrict_violation', constraint = 'beside_is_in_review';
  end if;
  return null;
end $$;
create constraint trigger beside_is_in_review after insert on payments deferrable initially deferred
  for each row when (new.beside is not null) execute function beside_is_in_review();
create trigger beside_never_changes after update on payments
  for each row when (new.beside is distinct from old.beside) execute function beside_is_in_review();

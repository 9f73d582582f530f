-- One transfer pays for one thing, also where a transaction holds several; and an edit stops what was not submitted yet (W15).

alter table payments
  -- The log of the transfer that is this payment's own, in the transaction tx_hash. Null while nothing is final, where the transfer
  -- is another payment's, and in rows from before this migration.
  add column log_index int,
  -- An edit of the listing came while the attempt was not submitted: it is never verified or settled again.
  add column stopped_at timestamptz;

create or replace function payments_move_forward() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    -- An authorization that was never submitted and ran out a month ago can move nothing any more: nobody asks for it again.
    if old.path = 'x402' and old.status = 'unpaid' and old.settling_at is null and old.end_reason = 'expired'
       and old.valid_before < extract(epoch from now()) - 30 * 86400 and old.ended_at < now() - interval '30 days' then
      return old;
    end if;
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
  if new.stopped_at is distinct from old.stopped_at and not (old.stopped_at is null and old.status = 'verifying' and new.status = 'verifying') then
    raise exception 'only an attempt that was not submitted is stopped, once' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if new.stopped_at is not null and new.status = 'settling' then
    raise exception 'a stopped attempt is not settled' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if new.stopped_at is not null and new.status = 'completed' and new.review_outcome is null then
    raise exception 'a stopped attempt is completed by the payee alone' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  -- A review ends with an outcome, and changes nothing of what was found before.
  if (new.review_outcome is not null) <> (old.status = 'needs_review' and new.status <> old.status) then
    raise exception 'a payment is decided on when its review ends' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if old.status = 'needs_review' and (new.end_reason, new.tx_hash, new.block_number, new.block_time, new.ended_at, new.payer_collects_only)
     is distinct from (old.end_reason, old.tx_hash, old.block_number, old.block_time, old.ended_at, old.payer_collects_only) then
    raise exception 'a review changes nothing of what was found' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if old.log_index is not null and new.log_index is distinct from old.log_index then
    raise exception 'the transfer of a payment never changes' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
  end if;
  if new.log_index is not null and old.log_index is null and exists (select from payment_proofs f
     where f.tx_hash = new.tx_hash and f.log_index = new.log_index and f.payment_id is distinct from new.id) then
    raise exception 'the transfer is what something else was paid with' using errcode = 'restrict_violation', constraint = 'payments_move_forward';
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

-- Deletes such attempts and nothing else; it has its owner's rights, so that the market's role needs none to delete payments.
create function prune_lapsed_attempts(before timestamptz, most int) returns int language plpgsql security definer
set search_path from current as $$
declare
  gone int;
begin
  delete from payments where id in (
    select id from payments p where status = 'unpaid' and settling_at is null and path = 'x402' and end_reason = 'expired'
      and ended_at < before and valid_before < extract(epoch from before)
      and not exists (select from pending_listings b where b.payment_id = p.id)
      and not exists (select from artifact_guards g where g.payment_id = p.id)
      and not exists (select from world_drafts d where d.payment_id = p.id)
    order by ended_at limit most);
  get diagnostics gone = row_count;
  return gone;
end $$;

-- concurrently
-- What was final in rows of before is in the proofs; what came in beside another payment's proof stays null until it is delivered.
create unique index concurrently payments_one_per_transfer on payments (tx_hash, log_index) where log_index is not null;
-- Attempts that came to nothing, for pruning.
create index concurrently payments_lapsed on payments (ended_at) where status = 'unpaid' and settling_at is null;

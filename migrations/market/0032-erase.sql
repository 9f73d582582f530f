-- compatible: older code
-- Goods whose bytes the operator erased because they are unlawful. Listing, salt, commitment, size and history stay. Older code answers 500
-- where it would deliver such goods, and restores no such listing.
create table erasures (
  listing_id bigint primary key references artifacts,
  reason_code text not null,
  erased_at timestamptz not null
);

-- Erased goods are never for sale: the listing is removed before, and stays removed.
create function erasures_step() returns trigger language plpgsql as $$
begin
  if tg_op <> 'INSERT' then
    raise exception 'an erasure stays' using errcode = 'restrict_violation', constraint = 'erasures_step';
  end if;
  perform from listings where id = new.listing_id and state = 'removed' for share;
  if not found then
    raise exception 'goods are erased once their listing is removed' using errcode = 'restrict_violation', constraint = 'erasures_step';
  end if;
  return new;
end $$;
create trigger erasures_step before insert or update or delete on erasures for each row execute function erasures_step();
create trigger erasures_never_truncated before truncate on erasures for each statement execute function erasures_step();

create function erased_stay_removed() returns trigger language plpgsql as $$
begin
  if exists (select from erasures where listing_id = new.id) then
    raise exception 'a listing whose goods are erased stays removed' using errcode = 'restrict_violation', constraint = 'erased_stay_removed';
  end if;
  return new;
end $$;
create trigger erased_stay_removed before update on listings for each row
  when (old.state = 'removed' and new.state <> 'removed') execute function erased_stay_removed();

-- An erasure takes the bytes away and nothing else, also from goods that cost something or that somebody has. None come back.
create or replace function artifact_is_fixed() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and new.listing_id = old.listing_id and not old.erased then
    if new.erased then
      if new.salt = old.salt and exists (select from erasures where listing_id = old.listing_id) then
        return new;
      end if;
    elsif exists (select from listings where id = old.listing_id and price_units = 0)
        and not exists (select from purchases where listing_id = old.listing_id) then
      return new;
    end if;
  end if;
  raise exception 'these goods never change' using errcode = 'restrict_violation', constraint = 'artifact_is_fixed';
end $$;

-- Older code may end a fee whose bytes an upload still holds. Such an attempt stays until the upload is released.
create or replace function prune_lapsed_attempts(before timestamptz, most int) returns int language plpgsql security definer
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
      and not exists (select from uploads u where u.payment_id = p.id)
    order by ended_at limit most);
  get diagnostics gone = row_count;
  return gone;
end $$;

-- The event of an erasure is in the books here.
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
      when 'remove_store_line' then exists (
        select from text_removals t where t.merchant_id = merchant and t.appeal_id is null and t.reason_code = detail->>'reason_code'
          and t.removed_at between earliest and latest)
      when 'remove_statement' then exists (
        select from text_removals t join appeals a on a.id = t.appeal_id
        where t.merchant_id = merchant and t.appeal_id = (detail->>'appeal_id')::bigint and a.listing_id = listing
          and t.reason_code = detail->>'reason_code' and t.removed_at between earliest and latest)
      when 'erase' then exists (
        select from erasures e join listings l on l.id = e.listing_id
        where e.listing_id = listing and l.merchant_id = merchant and e.reason_code = detail->>'reason_code'
          and detail->>'artifact_commitment' = '0x' || encode(l.artifact_commitment, 'hex') and e.erased_at between earliest and latest)
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

-- compatible: older code
-- Words by which a listing should be found and that its other texts lack. The version before writes none.
alter table listings add column keywords text[] not null default '{}';
alter table world_drafts add column keywords text[] not null default '{}';

-- An edit of keywords may move a listing in a walk by relevance, like an edit of the other texts.
create or replace trigger note_edit before update on listings for each row
  when ((new.title, new.description, new.preview, new.tags, new.keywords, new.aisle) is distinct from
        (old.title, old.description, old.preview, old.tags, old.keywords, old.aisle))
  execute function note_edit();

-- Keywords are terms of a draft too.
create or replace function world_drafts_step() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    raise exception 'a draft is never deleted' using errcode = 'restrict_violation', constraint = 'world_drafts_step';
  end if;
  if (new.id, new.merchant_id, new.title, new.description, new.preview, new.price_units, new.seller_wallet, new.tags, new.keywords,
      new.thing_id, new.created_at, new.expires_at) is distinct from
     (old.id, old.merchant_id, old.title, old.description, old.preview, old.price_units, old.seller_wallet, old.tags, old.keywords,
      old.thing_id, old.created_at, old.expires_at) then
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

-- Verified sales decide between equals by relevance. Where they fall, because the seller lists goods with a wallet that bought some, the
-- listing counts as edited, so that a walk does not show it again. A listing that is being sold is left out: its sale waits for the lock
-- of this wallet, so waiting for the sale would be a deadlock.
create or replace function count_listings() returns trigger language plpgsql security definer set search_path from current as $$
declare
  bought bigint[];
begin
  perform lock_wallet_of(w.merchant_id, w.seller_wallet)
    from (select distinct merchant_id, seller_wallet from made order by merchant_id, seller_wallet) w;
  select array_agg(p.listing_id order by p.listing_id) into bought
  from (select distinct merchant_id, seller_wallet from made) m
    cross join lateral (select listing_id from purchases where payer = m.seller_wallet and paid_units > 0 offset 0) p
  where (
    select own.id from listings own
    where own.seller_wallet = m.seller_wallet and own.merchant_id = m.merchant_id and own.id not in (select id from made) limit 1
  ) is null and (select sold.merchant_id from listings sold where sold.id = p.listing_id) = m.merchant_id;
  if bought is not null then
    insert into listing_counters as kept (listing_id, slot, verified_sales)
    select id, counter_slot(), -count(*) from unnest(bought) id group by id order by id
    on conflict (listing_id, slot) do update set verified_sales = kept.verified_sales + excluded.verified_sales;
    insert into catalog_changes (listing_id) select distinct id from unnest(bought) id;
    update listings set edited_act = next_catalog_act()
    where id = any (array(select id from listings where id = any (bought) order by id for no key update skip locked));
  end if;
  insert into merchant_counters as kept (merchant_id, slot, listings, live_listings)
  select merchant_id, counter_slot(), count(*), count(*) filter (where state = 'live') from made group by merchant_id order by merchant_id
  on conflict (merchant_id, slot) do update set listings = kept.listings + excluded.listings, live_listings = kept.live_listings + excluded.live_listings;
  insert into row_counters as kept (kind, slot, rows)
  select 'listings_without_fee', counter_slot(), count(*) from made where fee_id is null having count(*) > 0
  on conflict (kind, slot) do update set rows = kept.rows + excluded.rows;
  return null;
end $$;

-- compatible: older code
-- A vote needs no purchase, so beside all votes it is shown how many are of buyers: merchants who have paid for the listing, before or after
-- they voted. Kept by triggers, so that code of before keeps it too.

create table buyer_votes (
  listing_id bigint not null,
  merchant_id bigint not null,
  primary key (listing_id, merchant_id)
);
alter table listing_counters add column buyer_votes bigint not null default 0;

create function count_buyer_votes() returns trigger language plpgsql security definer set search_path from current as $$
begin
  insert into listing_counters as kept (listing_id, slot, buyer_votes)
  select listing_id, counter_slot(), count(*) from made group by listing_id order by listing_id
  on conflict (listing_id, slot) do update set buyer_votes = kept.buyer_votes + excluded.buyer_votes;
  return null;
end $$;
create trigger count_buyer_votes after insert on buyer_votes referencing new table as made
  for each statement execute function count_buyer_votes();

-- A vote and a purchase of one merchant, side by side: one waits for the other, and sees it then. Other pairs do not wait for each other. A
-- statement that writes very many would need as many locks, and shuts out all others instead.
create function lock_votes(listings bigint[], voters bigint[]) returns void language plpgsql as $$
declare
  everybody bigint := hashtextextended('votes', 0);
begin
  if cardinality(listings) > 100 then
    perform pg_advisory_xact_lock(everybody);
  else
    perform pg_advisory_xact_lock_shared(everybody);
    perform pg_advisory_xact_lock(place) from (
      select distinct hashtextextended('vote:' || listing || ':' || voter, 0) as place from unnest(listings, voters) as pair (listing, voter) order by place
    ) places;
  end if;
end $$;

-- Both come behind the counters of the listing in the order of locks: triggers of one event run in the order of their names.
create function mark_votes_of_buyers() returns trigger language plpgsql security definer set search_path from current as $$
begin
  perform lock_votes(array_agg(listing_id), array_agg(merchant_id)) from made having count(*) > 0;
  insert into buyer_votes (listing_id, merchant_id)
  select m.listing_id, m.merchant_id from made m where exists (
    select from purchases p where p.listing_id = m.listing_id and p.merchant_id = m.merchant_id and p.price_units > 0
      and not p.payer_collects_only)
  on conflict do nothing;
  return null;
end $$;
create trigger mark_votes_of_buyers after insert on votes referencing new table as made
  for each statement execute function mark_votes_of_buyers();

create function mark_voters_who_bought() returns trigger language plpgsql security definer set search_path from current as $$
begin
  if not exists (select from made where merchant_id is not null and price_units > 0 and not payer_collects_only) then return null; end if;
  perform lock_votes(array_agg(listing_id), array_agg(merchant_id)) from made
  where merchant_id is not null and price_units > 0 and not payer_collects_only;
  insert into buyer_votes (listing_id, merchant_id)
  select m.listing_id, m.merchant_id from made m join votes v on v.listing_id = m.listing_id and v.merchant_id = m.merchant_id
  where m.price_units > 0 and not m.payer_collects_only
  on conflict do nothing;
  return null;
end $$;
create trigger mark_voters_who_bought after insert on purchases referencing new table as made
  for each statement execute function mark_voters_who_bought();

-- Making a trigger waits for who writes to its table: all that is not marked from here on was committed before.
-- fill: votes-of-buyers
insert into buyer_votes (listing_id, merchant_id)
select v.listing_id, v.merchant_id from votes v
where exists (select from purchases p where p.listing_id = v.listing_id and p.merchant_id = v.merchant_id and p.price_units > 0
    and not p.payer_collects_only)
  and not exists (select from buyer_votes b where b.listing_id = v.listing_id and b.merchant_id = v.merchant_id)
limit 10000
on conflict do nothing;

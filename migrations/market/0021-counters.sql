-- compatible: older code
-- Figures are kept by the transaction that changes them, so that no reader counts rows. By triggers, so that code of before keeps them
-- too. A listing and a merchant have several rows, slots, which are added up when they are read: transactions side by side rarely wait
-- for the same one. Counters have no index, so that an update moves no index entry.

create table listing_counters (
  listing_id bigint not null,
  slot smallint not null,
  sales bigint not null default 0,
  -- Paid for by a wallet that is none of the seller's.
  verified_sales bigint not null default 0,
  -- Those that cost something, and what they came to.
  paid_sales bigint not null default 0,
  paid_units bigint not null default 0,
  votes bigint not null default 0,
  comments bigint not null default 0,
  -- Numbered ones of the public log.
  events bigint not null default 0,
  primary key (listing_id, slot)
) with (fillfactor = 60);

create table merchant_counters (
  merchant_id bigint not null,
  slot smallint not null,
  listings bigint not null default 0,
  live_listings bigint not null default 0,
  sales bigint not null default 0,
  purchases bigint not null default 0,
  -- Comments of others on its listings and under its comments.
  replies bigint not null default 0,
  primary key (merchant_id, slot)
) with (fillfactor = 60);

-- What the aisles sold, by the aisle where the goods lie now.
create table aisle_counters (
  aisle text not null,
  slot smallint not null,
  sales bigint not null default 0,
  paid_sales bigint not null default 0,
  paid_units bigint not null default 0,
  primary key (aisle, slot)
) with (fillfactor = 60);

-- Fees are written one after the other, so there are no slots. By the day of the block, in UTC.
create table fee_days (
  day date primary key,
  fees bigint not null default 0,
  units bigint not null default 0,
  -- Merchants who paid their first fee.
  new_merchants bigint not null default 0
);
create table fee_payers (
  merchant_id bigint primary key,
  fees bigint not null default 0,
  units bigint not null default 0
);
create index fee_payers_by_units on fee_payers (units desc, merchant_id);

-- What was sold, by who sold it, and what others said to whom: newest first without a look at the rest.
create table sales_of_merchants (
  merchant_id bigint not null,
  purchase_id bigint not null,
  primary key (merchant_id, purchase_id)
);
create table replies_to_merchants (
  merchant_id bigint not null,
  comment_id bigint not null,
  primary key (merchant_id, comment_id)
);

-- Rows of other kinds that a page says the number of: removals, appeals, comments that were removed, listings without a fee.
create table row_counters (
  kind text not null,
  slot smallint not null,
  rows bigint not null default 0,
  primary key (kind, slot)
) with (fillfactor = 60);

-- The same connection has the same slot: its transactions come one after the other.
create function counter_slot() returns smallint language sql stable as $$ select (pg_backend_pid() & 15)::smallint $$;

-- Each function below adds up what one statement has written. The order of locks in a transaction: wallets, listings by id, aisles,
-- merchants by id, the rest.

-- A sale to a wallet and a listing of that wallet by the same seller, side by side: one waits for the other, and sees it then.
create function lock_wallet_of(of_merchant bigint, wallet bytea) returns void language sql as $$
  select pg_advisory_xact_lock(hashtextextended('wallet:' || of_merchant || ':' || encode(wallet, 'hex'), 0))
$$;

create function count_sales() returns trigger language plpgsql security definer set search_path from current as $$
begin
  -- Nobody moves what is sold to another aisle meanwhile. The market holds these rows already.
  perform from listings where id in (select listing_id from made) order by id for share;
  perform lock_wallet_of(w.seller, w.payer) from (
    select distinct l.merchant_id as seller, m.payer from made m join listings l on l.id = m.listing_id
    where m.paid_units > 0 and m.payer is not null order by 1, 2
  ) w;
  insert into listing_counters as kept (listing_id, slot, sales, verified_sales, paid_sales, paid_units)
  select m.listing_id, counter_slot(), count(*), count(*) filter (where m.paid_units > 0 and m.payer is not null and not exists (
      select from listings own where own.seller_wallet = m.payer and own.merchant_id = l.merchant_id)),
    count(*) filter (where m.verified_via <> 'free'), sum(m.paid_units)
  from made m join listings l on l.id = m.listing_id group by m.listing_id order by m.listing_id
  on conflict (listing_id, slot) do update set sales = kept.sales + excluded.sales, verified_sales = kept.verified_sales + excluded.verified_sales,
    paid_sales = kept.paid_sales + excluded.paid_sales, paid_units = kept.paid_units + excluded.paid_units;
  insert into aisle_counters as kept (aisle, slot, sales, paid_sales, paid_units)
  select l.aisle, counter_slot(), count(*), count(*) filter (where m.verified_via <> 'free'), sum(m.paid_units)
  from made m join listings l on l.id = m.listing_id group by l.aisle order by l.aisle
  on conflict (aisle, slot) do update set sales = kept.sales + excluded.sales, paid_sales = kept.paid_sales + excluded.paid_sales,
    paid_units = kept.paid_units + excluded.paid_units;
  insert into merchant_counters as kept (merchant_id, slot, sales, purchases)
  select merchant_id, counter_slot(), sum(sales), sum(purchases) from (
    select l.merchant_id, 1 as sales, 0 as purchases from made m join listings l on l.id = m.listing_id
    union all select merchant_id, 0, 1 from made where merchant_id is not null
  ) parties group by merchant_id order by merchant_id
  on conflict (merchant_id, slot) do update set sales = kept.sales + excluded.sales, purchases = kept.purchases + excluded.purchases;
  insert into sales_of_merchants (merchant_id, purchase_id) select l.merchant_id, m.id from made m join listings l on l.id = m.listing_id;
  return null;
end $$;
create trigger count_sales after insert on purchases referencing new table as made for each statement execute function count_sales();

create function count_votes() returns trigger language plpgsql security definer set search_path from current as $$
begin
  insert into listing_counters as kept (listing_id, slot, votes)
  select listing_id, counter_slot(), count(*) from made group by listing_id order by listing_id
  on conflict (listing_id, slot) do update set votes = kept.votes + excluded.votes;
  return null;
end $$;
create trigger count_votes after insert on votes referencing new table as made for each statement execute function count_votes();

-- Who is told of a comment: whose listing it is on, and whose comment it is under, once each, and never who wrote it.
create function count_comments() returns trigger language plpgsql security definer set search_path from current as $$
begin
  insert into listing_counters as kept (listing_id, slot, comments)
  select listing_id, counter_slot(), count(*) from made group by listing_id order by listing_id
  on conflict (listing_id, slot) do update set comments = kept.comments + excluded.comments;
  with told as (
    insert into replies_to_merchants (merchant_id, comment_id)
    select l.merchant_id, m.id from made m join listings l on l.id = m.listing_id where l.merchant_id <> m.merchant_id
    union select parent.merchant_id, m.id from made m join comments parent on parent.id = m.parent_id where parent.merchant_id <> m.merchant_id
    returning merchant_id
  )
  insert into merchant_counters as kept (merchant_id, slot, replies)
  select merchant_id, counter_slot(), count(*) from told group by merchant_id order by merchant_id
  on conflict (merchant_id, slot) do update set replies = kept.replies + excluded.replies;
  return null;
end $$;
create trigger count_comments after insert on comments referencing new table as made for each statement execute function count_comments();

-- A new wallet of a seller: what it bought of that seller is no verified sale any more.
create function count_listings() returns trigger language plpgsql security definer set search_path from current as $$
declare
  bought bigint[];
begin
  perform lock_wallet_of(w.merchant_id, w.seller_wallet)
    from (select distinct merchant_id, seller_wallet from made order by merchant_id, seller_wallet) w;
  select array_agg(p.listing_id order by p.listing_id) into bought
  from (select distinct merchant_id, seller_wallet from made m where not exists (
      select from listings own where own.seller_wallet = m.seller_wallet and own.merchant_id = m.merchant_id and own.id not in (select id from made)
    )) fresh
    join purchases p on p.payer = fresh.seller_wallet and p.paid_units > 0
    join listings sold on sold.id = p.listing_id and sold.merchant_id = fresh.merchant_id;
  if bought is not null then
    insert into listing_counters as kept (listing_id, slot, verified_sales)
    select id, counter_slot(), -count(*) from unnest(bought) id group by id order by id
    on conflict (listing_id, slot) do update set verified_sales = kept.verified_sales + excluded.verified_sales;
    insert into catalog_changes (listing_id) select distinct id from unnest(bought) id;
  end if;
  insert into merchant_counters as kept (merchant_id, slot, listings, live_listings)
  select merchant_id, counter_slot(), count(*), count(*) filter (where state = 'live') from made group by merchant_id order by merchant_id
  on conflict (merchant_id, slot) do update set listings = kept.listings + excluded.listings, live_listings = kept.live_listings + excluded.live_listings;
  insert into row_counters as kept (kind, slot, rows)
  select 'listings_without_fee', counter_slot(), count(*) from made where fee_id is null having count(*) > 0
  on conflict (kind, slot) do update set rows = kept.rows + excluded.rows;
  return null;
end $$;
create trigger count_listings after insert on listings referencing new table as made for each statement execute function count_listings();

create function count_state() returns trigger language plpgsql security definer set search_path from current as $$
begin
  insert into merchant_counters as kept (merchant_id, slot, live_listings)
  values (new.merchant_id, counter_slot(), case when new.state = 'live' then 1 else -1 end)
  on conflict (merchant_id, slot) do update set live_listings = kept.live_listings + excluded.live_listings;
  return null;
end $$;
create trigger count_state after update of state on listings for each row
  when ((old.state = 'live') <> (new.state = 'live')) execute function count_state();

-- What it has sold goes along. Nobody sells it meanwhile: a sale shares the row's lock.
create function count_aisle() returns trigger language plpgsql security definer set search_path from current as $$
begin
  insert into aisle_counters as kept (aisle, slot, sales, paid_sales, paid_units)
  select moved.aisle, counter_slot(), moved.way * sum(c.sales), moved.way * sum(c.paid_sales), moved.way * sum(c.paid_units)
  from listing_counters c cross join (values (old.aisle, -1), (new.aisle, 1)) moved (aisle, way)
  where c.listing_id = new.id group by moved.aisle, moved.way having sum(c.sales) > 0 order by moved.aisle
  on conflict (aisle, slot) do update set sales = kept.sales + excluded.sales, paid_sales = kept.paid_sales + excluded.paid_sales,
    paid_units = kept.paid_units + excluded.paid_units;
  return null;
end $$;
create trigger count_aisle after update of aisle on listings for each row
  when (old.aisle <> new.aisle) execute function count_aisle();

create function count_events() returns trigger language plpgsql security definer set search_path from current as $$
begin
  insert into listing_counters as kept (listing_id, slot, events)
  select numbered.listing_id, counter_slot(), count(*) from numbered join unnumbered using (queue_id)
  where unnumbered.id is null and numbered.id is not null and numbered.listing_id is not null
  group by numbered.listing_id order by numbered.listing_id
  on conflict (listing_id, slot) do update set events = kept.events + excluded.events;
  insert into row_counters as kept (kind, slot, rows)
  select 'comment_removals', counter_slot(), count(*) from numbered join unnumbered using (queue_id)
  where unnumbered.id is null and numbered.id is not null and numbered.kind = 'moderation'
    and position('"action":"remove_comment"'::bytea in numbered.canonical) > 0 having count(*) > 0
  on conflict (kind, slot) do update set rows = kept.rows + excluded.rows;
  return null;
end $$;
create trigger count_events after update on events referencing old table as unnumbered new table as numbered
  for each statement execute function count_events();

create function count_rows() returns trigger language plpgsql security definer set search_path from current as $$
begin
  insert into row_counters as kept (kind, slot, rows) select tg_table_name, counter_slot(), count(*) from made having count(*) > 0
  on conflict (kind, slot) do update set rows = kept.rows + excluded.rows;
  return null;
end $$;
create trigger count_rows after insert on removals referencing new table as made for each statement execute function count_rows();
create trigger count_rows after insert on appeals referencing new table as made for each statement execute function count_rows();

create function count_fees() returns trigger language plpgsql security definer set search_path from current as $$
begin
  insert into fee_days as kept (day, fees, units, new_merchants)
  select (m.block_time at time zone 'UTC')::date, count(*), sum(m.amount_units),
    count(*) filter (where m.place = 1 and not exists (select from fee_payers p where p.merchant_id = m.merchant_id))
  from (select *, row_number() over (partition by merchant_id order by id) as place from made) m group by 1 order by 1
  on conflict (day) do update set fees = kept.fees + excluded.fees, units = kept.units + excluded.units,
    new_merchants = kept.new_merchants + excluded.new_merchants;
  insert into fee_payers as kept (merchant_id, fees, units)
  select merchant_id, count(*), sum(amount_units) from made group by merchant_id order by merchant_id
  on conflict (merchant_id) do update set fees = kept.fees + excluded.fees, units = kept.units + excluded.units;
  return null;
end $$;
create trigger count_fees after insert on fees referencing new table as made for each statement execute function count_fees();

-- What there is. A trigger that was just made keeps everybody from writing to its table until the commit, so that each row is counted
-- once, here or by its trigger.

insert into listing_counters (listing_id, slot, sales, verified_sales, paid_sales, paid_units, votes, comments, events)
select listing_id, 0, sum(sales), sum(verified), sum(paid), sum(units), sum(votes), sum(comments), sum(events) from (
  select p.listing_id, count(*) as sales, count(*) filter (where p.paid_units > 0 and p.payer is not null and not exists (
      select from listings own where own.seller_wallet = p.payer and own.merchant_id = l.merchant_id)) as verified,
    count(*) filter (where p.verified_via <> 'free') as paid, sum(p.paid_units) as units, 0 as votes, 0 as comments, 0 as events
  from purchases p join listings l on l.id = p.listing_id group by p.listing_id
  union all select listing_id, 0, 0, 0, 0, count(*), 0, 0 from votes group by listing_id
  union all select listing_id, 0, 0, 0, 0, 0, count(*), 0 from comments group by listing_id
  union all select listing_id, 0, 0, 0, 0, 0, 0, count(*) from events where id is not null and listing_id is not null group by listing_id
) counted group by listing_id;

insert into aisle_counters (aisle, slot, sales, paid_sales, paid_units)
select l.aisle, 0, sum(c.sales), sum(c.paid_sales), sum(c.paid_units)
from listing_counters c join listings l on l.id = c.listing_id where c.sales > 0 group by l.aisle;

insert into sales_of_merchants (merchant_id, purchase_id)
select l.merchant_id, p.id from purchases p join listings l on l.id = p.listing_id;
insert into replies_to_merchants (merchant_id, comment_id)
select l.merchant_id, c.id from comments c join listings l on l.id = c.listing_id where l.merchant_id <> c.merchant_id
union select parent.merchant_id, c.id from comments c join comments parent on parent.id = c.parent_id where parent.merchant_id <> c.merchant_id;

insert into merchant_counters (merchant_id, slot, listings, live_listings, sales, purchases, replies)
select merchant_id, 0, sum(listings), sum(live), sum(sales), sum(purchases), sum(replies) from (
  select l.merchant_id, count(*) as listings, count(*) filter (where l.state = 'live') as live,
    coalesce(sum(c.sales), 0) as sales, 0 as purchases, 0 as replies
  from listings l left join listing_counters c on c.listing_id = l.id group by l.merchant_id
  union all select merchant_id, 0, 0, 0, count(*), 0 from purchases where merchant_id is not null group by merchant_id
  union all select merchant_id, 0, 0, 0, 0, count(*) from replies_to_merchants group by merchant_id
) counted group by merchant_id;

insert into fee_payers (merchant_id, fees, units) select merchant_id, count(*), sum(amount_units) from fees group by merchant_id;
insert into fee_days (day, fees, units, new_merchants)
select (block_time at time zone 'UTC')::date, count(*), sum(amount_units), count(*) filter (where is_first)
from (select *, row_number() over (partition by merchant_id order by id) = 1 as is_first from fees) f group by 1;

insert into row_counters (kind, slot, rows)
select 'removals', 0, count(*) from removals union all select 'appeals', 0, count(*) from appeals
union all select 'listings_without_fee', 0, count(*) from listings where fee_id is null
union all select 'comment_removals', 0, count(*) from events
  where id is not null and kind = 'moderation' and position('"action":"remove_comment"'::bytea in canonical) > 0;

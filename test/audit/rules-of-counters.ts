/** Each finds a figure that is kept and is not what the rows come to. For books that have counters. */
export const COUNTER_RULES: readonly (readonly [string, string])[] = [
  [
    'a counter of a listing says otherwise than its rows',
    `select coalesce(kept.listing_id, counted.listing_id) as id from (
       select listing_id, sum(sales) as sales, sum(verified_sales) as verified, sum(paid_sales) as paid, sum(paid_units) as units,
         sum(votes) as votes, sum(comments) as comments, sum(events) as events from listing_counters group by listing_id
     ) kept full join (
       select l.id as listing_id, p.sales, p.verified, p.paid, p.units,
         (select count(*) from votes v where v.listing_id = l.id) as votes, (select count(*) from comments c where c.listing_id = l.id) as comments,
         (select count(*) from events e where e.listing_id = l.id and e.id is not null) as events
       from listings l cross join lateral (
         select count(*) as sales, count(*) filter (where b.verified_via <> 'free') as paid, coalesce(sum(b.paid_units), 0) as units,
           count(*) filter (where b.paid_units > 0 and b.payer is not null and not exists (
             select from listings own where own.seller_wallet = b.payer and own.merchant_id = l.merchant_id)) as verified
         from purchases b where b.listing_id = l.id
       ) p
     ) counted on counted.listing_id = kept.listing_id
     where (coalesce(kept.sales, 0), coalesce(kept.verified, 0), coalesce(kept.paid, 0), coalesce(kept.units, 0), coalesce(kept.votes, 0),
         coalesce(kept.comments, 0), coalesce(kept.events, 0))
       is distinct from (counted.sales, counted.verified, counted.paid, counted.units, counted.votes, counted.comments, counted.events)`,
  ],
  [
    'a counter of a merchant says otherwise than its rows',
    `select m.id from merchants m
     left join (select merchant_id, sum(listings) as listings, sum(live_listings) as live, sum(sales) as sales, sum(purchases) as purchases,
       sum(replies) as replies from merchant_counters group by merchant_id) kept on kept.merchant_id = m.id
     where (coalesce(kept.listings, 0), coalesce(kept.live, 0), coalesce(kept.sales, 0), coalesce(kept.purchases, 0), coalesce(kept.replies, 0))
       is distinct from (
         (select count(*) from listings l where l.merchant_id = m.id), (select count(*) from listings l where l.merchant_id = m.id and l.state = 'live'),
         (select count(*) from listings l join purchases b on b.listing_id = l.id where l.merchant_id = m.id),
         (select count(*) from purchases b where b.merchant_id = m.id),
         (select count(*) from comments c join listings l on l.id = c.listing_id left join comments parent on parent.id = c.parent_id
           where c.merchant_id <> m.id and (l.merchant_id = m.id or parent.merchant_id = m.id)))`,
  ],
  [
    'a sale or a reply is not under its merchant',
    `select coalesce(s.purchase_id, b.purchase_id) as id from sales_of_merchants s full join (
       select l.merchant_id, b.id as purchase_id from purchases b join listings l on l.id = b.listing_id
     ) b on b.merchant_id = s.merchant_id and b.purchase_id = s.purchase_id where num_nonnulls(s.purchase_id, b.purchase_id) < 2`,
  ],
  [
    'a counter of an aisle says otherwise than its sales',
    `select aisle from (select aisle, sum(sales) as sales, sum(paid_units) as units from aisle_counters group by aisle) kept
     full join (select l.aisle, count(*) as sales, sum(b.paid_units) as units from purchases b join listings l on l.id = b.listing_id group by l.aisle)
     counted using (aisle) where (coalesce(kept.sales, 0), coalesce(kept.units, 0)) is distinct from (coalesce(counted.sales, 0), coalesce(counted.units, 0))`,
  ],
  [
    'the fees of a day or of a merchant add up to something else',
    `select 1 from (select sum(fees) as fees, sum(units) as units, sum(new_merchants) as payers from fee_days) d,
       (select sum(fees) as fees, sum(units) as units, count(*) as payers from fee_payers) p,
       (select count(*) as fees, sum(amount_units) as units, count(distinct merchant_id) as payers from fees) f
     where (coalesce(d.fees, 0), coalesce(d.units, 0), coalesce(d.payers, 0)) is distinct from (f.fees, coalesce(f.units, 0), f.payers)
       or (coalesce(p.fees, 0), coalesce(p.units, 0), p.payers) is distinct from (f.fees, coalesce(f.units, 0), f.payers)`,
  ],
];

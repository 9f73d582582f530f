/** Each query finds rows that must not exist. */
export const RULES: readonly (readonly [string, string])[] = [
  ['a transaction proves two things', 'select tx_hash from payment_proofs group by tx_hash having count(*) > 1'],
  [
    'goods were bought twice by one wallet or one merchant',
    `select listing_id from purchases where payer is not null group by listing_id, payer having count(*) > 1
     union all select listing_id from purchases where merchant_id is not null group by listing_id, merchant_id having count(*) > 1`,
  ],
  [
    'a purchase that cost something without a completed payment',
    `select b.id from purchases b left join payments p on p.id = b.payment_id
     where b.verified_via not in ('free', 'city') and (p.status is distinct from 'completed' or p.purpose <> 'purchase')`,
  ],
  [
    'a thing was bought without a proof of its own',
    `select b.id from purchases b left join payment_proofs f on f.tx_hash = b.tx_hash and f.purpose = 'city'
       and f.world_listing_id = b.listing_id and f.block_number = b.block_number and f.value_units = b.paid_units
     where b.verified_via = 'city' and f.tx_hash is null`,
  ],
  [
    'a proof of a thing without a sale',
    `select f.tx_hash from payment_proofs f left join purchases b on b.tx_hash = f.tx_hash and b.verified_via = 'city'
     where f.purpose = 'city' and b.id is null`,
  ],
  [
    'a thing that is sold without a purchase, or bought and not sold',
    `select l.id from listings l left join purchases b on b.world_listing_id = l.id
     where (l.state = 'sold') <> (b.id is not null)`,
  ],
  [
    'a thing was bought by another checkout than its own',
    `select b.id from purchases b join world_checkouts c on c.id = b.checkout_id join world_listings w on w.listing_id = b.listing_id
     where (c.merchant_id, c.listing_id, c.offer_id, c.state) is distinct from (b.merchant_id, b.listing_id, w.offer_id, 'completed')`,
  ],
  [
    'a thing was paid for as if it were goods',
    `select p.id from payments p join listings l on l.id = p.listing_id where l.aisle = 'world'`,
  ],
  [
    'one wallet sells goods and things',
    `select seller_wallet from listings group by seller_wallet having count(distinct wallet_kind) > 1`,
  ],
  [
    'a fee without a completed payment',
    `select f.id from fees f join payments p on p.id = f.payment_id where p.status <> 'completed'`,
  ],
  [
    'a fee spent on two listings',
    'select fee_id from listings where fee_id is not null group by fee_id having count(*) > 1',
  ],
  [
    'a listing without a fee that is not the maintainer’s',
    'select id from listings where fee_id is null and merchant_id <> 1',
  ],
  [
    'a running total of the treasury that does not add up',
    'select id from (select id, running_units, sum(amount_units) over (order by id) as total from fees) f where running_units <> total',
  ],
  [
    'a fee or a purchase says another transfer than its proof',
    `select b.id from fees b join payment_proofs f on f.payment_id = b.payment_id and f.purpose = 'listing_fee'
     where (b.tx_hash, b.amount_units, b.block_time) is distinct from (f.tx_hash, f.value_units, f.block_time)
     union all select b.id from purchases b join payment_proofs f on f.payment_id = b.payment_id and f.purpose = 'purchase'
     where (b.tx_hash, b.paid_units, b.block_number) is distinct from (f.tx_hash, f.value_units, f.block_number)`,
  ],
  [
    'goods were bought at another price than theirs',
    `select b.id from purchases b join listings l on l.id = b.listing_id where b.price_units <> l.price_units`,
  ],
  [
    'a listing of goods has none, or a thing has some',
    `select l.id from listings l left join artifacts a on a.listing_id = l.id where (l.aisle = 'world') = (a.listing_id is not null)`,
  ],
  [
    // Each recovery may skip ids past the highest id ever shown.
    'a gap in the fees',
    `select id from (select id, lag(id, 1, 0::bigint) over (order by id) as before from fees) f
     where id <> before + 1 order by id offset (select count(*) from events where kind = 'recovery')`,
  ],
  [
    'a fee is counted otherwise than it is',
    `select id from (select id, coalesce((to_jsonb(fees) ->> 'nth')::bigint, id) as nth, row_number() over (order by id) as place
     from fees) f where nth <> place`,
  ],
  [
    'a body is kept of a fee that has ended',
    `select b.payment_id from pending_listings b join payments p on p.id = b.payment_id where p.status not in ('verifying', 'settling')`,
  ],
  [
    'goods are held for a fee that has ended',
    `select g.payment_id from artifact_guards g join payments p on p.id = g.payment_id where p.status not in ('verifying', 'settling')`,
  ],
  [
    'a payment goes on against the terms of its intent',
    `select p.id from payments p join payment_intents i on i.id = p.intent_id
     where (i.payer is not null and i.payer <> p.payer) or i.payee <> p.payee or i.minimum_units <> p.value_units
       or i.merchant_id <> p.merchant_id or i.listing_id is distinct from p.listing_id`,
  ],
];

/** Each query finds a stored counter that differs from its rows. Only for schemas with counters. */
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

/** Like `COUNTER_RULES`, for schemas that mark votes of buyers. */
export const VOTE_RULES: readonly (readonly [string, string])[] = [
  [
    'the votes of buyers are others than were cast and paid for',
    `select coalesce(kept.listing_id, cast_votes.listing_id) as id from buyer_votes kept full join (
       select v.listing_id, v.merchant_id from votes v where exists (select from purchases b where b.listing_id = v.listing_id
         and b.merchant_id = v.merchant_id and b.price_units > 0 and not b.payer_collects_only)
     ) cast_votes on cast_votes.listing_id = kept.listing_id and cast_votes.merchant_id = kept.merchant_id
     where num_nonnulls(kept.merchant_id, cast_votes.merchant_id) < 2`,
  ],
  [
    'a counter of the votes of buyers says otherwise than its rows',
    `select l.id from listings l
     where (select coalesce(sum(buyer_votes), 0) from listing_counters c where c.listing_id = l.id)
       <> (select count(*) from buyer_votes b where b.listing_id = l.id)`,
  ],
];

/** Each finds rows that must not be there. */
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
    // A recovery moves ids past the highest that was ever shown, once for each.
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

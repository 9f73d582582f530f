import pg from 'pg';

/** The books as SQL gives them: hex in lower case, amounts in units as text. */
export interface PaymentLine {
  id: string;
  path: 'x402' | 'direct';
  purpose: 'purchase' | 'listing_fee';
  status: string;
  listing_id: string | null;
  merchant_id: string | null;
  payer: string;
  payee: string;
  value_units: string;
  nonce: string | null;
  window_from: number | null;
  window_to: number | null;
  surplus: boolean;
  end_reason: string | null;
  review_outcome: string | null;
  /** Milliseconds, like `removed_at`. */
  ended_at: number | null;
  removed_at: number | null;
  tx_hash: string | null;
  proof_hash: string | null;
  proof_block: string | null;
  proof_number: string | null;
  proof_log: number | null;
  proof_units: string | null;
  refund_hash: string | null;
  refund_number: string | null;
  purchases: string;
  fees: string;
  sales: string;
}

export interface ClaimedHash {
  payment_id: string;
  tx_hash: string;
  refused_reason: string | null;
}

/** A thing of a city that was sold, and what proves it. */
export interface ThingLine {
  id: string;
  listing_id: string;
  payer: string;
  payee: string;
  price_units: string;
  proof_hash: string;
  proof_block: string;
  proof_number: string;
  proof_log: number;
  proof_units: string;
}

export interface Books {
  payments: PaymentLine[];
  claimed: ClaimedHash[];
  things: ThingLine[];
  /** Rules of the books that SQL alone can judge: what it found against them, in words. */
  broken: string[];
}

const PAYMENTS = `
  select p.id, p.path, p.purpose, p.status, p.listing_id, p.merchant_id, '0x' || encode(p.payer, 'hex') as payer,
    '0x' || encode(p.payee, 'hex') as payee, p.value_units, '0x' || encode(p.nonce, 'hex') as nonce,
    extract(epoch from p.window_from)::float8 as window_from, extract(epoch from p.window_to)::float8 as window_to, p.surplus,
    p.end_reason, p.review_outcome, (extract(epoch from p.ended_at) * 1000)::float8 as ended_at, (extract(epoch from l.removed_at) * 1000)::float8 as removed_at,
    '0x' || encode(p.tx_hash, 'hex') as tx_hash,
    '0x' || encode(f.tx_hash, 'hex') as proof_hash, '0x' || encode(f.block_hash, 'hex') as proof_block,
    f.block_number as proof_number, f.log_index as proof_log, f.value_units as proof_units,
    '0x' || encode(r.tx_hash, 'hex') as refund_hash, r.block_number as refund_number,
    (select count(*) from purchases b where b.payment_id = p.id) as purchases,
    (select count(*) from fees b where b.payment_id = p.id) as fees,
    coalesce(e.sales, 0)::text as sales
  from payments p left join listings l on l.id = p.listing_id
    left join (select (convert_from(canonical, 'UTF8')::jsonb -> 'detail' ->> 'payment_id')::bigint as payment_id, count(*) as sales
      from events where kind = 'sale' group by 1) e on e.payment_id = p.id
    left join payment_proofs f on f.payment_id = p.id and f.purpose <> 'refund'
    left join payment_proofs r on r.payment_id = p.id and r.purpose = 'refund'
  order by p.id`;

const THINGS = `
  select b.id, b.listing_id, '0x' || encode(b.payer, 'hex') as payer, '0x' || encode(l.seller_wallet, 'hex') as payee,
    l.price_units, '0x' || encode(f.tx_hash, 'hex') as proof_hash, '0x' || encode(f.block_hash, 'hex') as proof_block,
    f.block_number as proof_number, f.log_index as proof_log, f.value_units as proof_units
  from purchases b join listings l on l.id = b.listing_id join payment_proofs f on f.tx_hash = b.tx_hash
  where b.verified_via = 'city' order by b.id`;

/** Each finds rows that must not be there. */
const RULES: readonly (readonly [string, string])[] = [
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
    'a proof of a thing that nobody bought',
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
  ['a gap in the fees', 'select 1 from fees having count(*) <> coalesce(max(id), 0)'],
  ['a gap in the events', 'select 1 from events where id is not null having count(*) <> coalesce(max(id), 0)'],
  [
    'sales and purchases differ',
    `select 1 where (select count(*) from events where kind = 'sale') <> (select count(*) from purchases where verified_via <> 'city')`,
  ],
  [
    'things that were sold or canceled and their events differ',
    `select 1 where (select count(*) from events where kind = 'world_sale') <> (select count(*) from purchases where verified_via = 'city')
       or (select count(*) from events where kind = 'world_canceled') <> (select count(*) from listings where state = 'canceled')`,
  ],
  [
    'listings and their events differ',
    `select 1 where (select count(*) from events where kind = 'listing') <> (select count(*) from listings where fee_id is not null)`,
  ],
  [
    'free listings and their events differ',
    `select 1 where (select count(*) from events where kind = 'maintainer_seed') <> (select count(*) from listings where fee_id is null)`,
  ],
  [
    'reviews and their events differ',
    `select 1 where (select count(*) from payments where review_outcome is not null) <>
      (select count(*) from events where kind = 'review'
        or (kind = 'moderation' and convert_from(canonical, 'UTF8')::jsonb -> 'detail' ->> 'action' = 'fee_review'))`,
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

export async function readBooks(databaseUrl: string): Promise<Books> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    const { rows: payments } = await client.query<PaymentLine>(PAYMENTS);
    const { rows: claimed } = await client.query<ClaimedHash>(
      `select payment_id, '0x' || encode(tx_hash, 'hex') as tx_hash, refused_reason from claim_hashes order by place`,
    );
    const { rows: things } = await client.query<ThingLine>(THINGS);
    const broken: string[] = [];
    for (const [name, query] of RULES) {
      const { rows } = await client.query(query);
      if (rows.length > 0) broken.push(`${name}: ${JSON.stringify(rows.slice(0, 5))}`);
    }
    return { payments, claimed, things, broken };
  } finally {
    await client.end();
  }
}

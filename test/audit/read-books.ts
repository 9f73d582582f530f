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

export interface Books {
  payments: PaymentLine[];
  claimed: ClaimedHash[];
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
     where b.verified_via <> 'free' and (p.status is distinct from 'completed' or p.purpose <> 'purchase')`,
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
    `select 1 where (select count(*) from events where kind = 'sale') <> (select count(*) from purchases)`,
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
    const broken: string[] = [];
    for (const [name, query] of RULES) {
      const { rows } = await client.query(query);
      if (rows.length > 0) broken.push(`${name}: ${JSON.stringify(rows.slice(0, 5))}`);
    }
    return { payments, claimed, broken };
  } finally {
    await client.end();
  }
}

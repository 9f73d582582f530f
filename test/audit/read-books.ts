import pg from 'pg';
import { createFaults } from './bounds.ts';
import { type Baseline, createLogJudge, type LogFound, type LogRow } from './judge-log.ts';
import { faultsOfPromise, type Goods } from './promises.ts';
import { type ArtifactsFound, readArtifacts } from './read-artifacts.ts';
import { batchesOf, hasTable } from './read-batches.ts';
import { COUNTER_RULES, RULES, VOTE_RULES } from './rules-of-books.ts';
import { factOf } from './told.ts';

/** A row of the books as SQL returns it: lower-case hex, amounts in units as text. */
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
  /** Unix time in milliseconds, like `removed_at`. */
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
  opened_block: string | null;
}

export interface ClaimedHash {
  payment_id: string;
  tx_hash: string;
  refused_reason: string | null;
}

/** A sold thing of a city and its proof. */
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

export interface KnownTransfer {
  tx_hash: string;
  log_index: number | null;
}

export interface Books {
  payments: PaymentLine[];
  claimed: ClaimedHash[];
  things: ThingLine[];
  proofs: KnownTransfer[];
  fees: number;
  purchases: number;
  listings: number;
  /** Number of payments on other chains, since a market may have moved. */
  elsewhere: number;
  log: LogFound;
  artifacts: ArtifactsFound;
  /** Wallets that received fees, in lower case. */
  treasuries: string[];
  sellers: string[];
  /** First block and second that the books can refer to. Null if the books are empty. */
  first: { block: number | null; second: number | null };
  /** Broken rules within the books, as sentences. */
  broken: string[];
}

// Reads newer columns from the row as JSON, so that older schemas can be audited too.
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
    p.opened_block
  from payments p left join listings l on l.id = p.listing_id
    left join payment_proofs f on f.payment_id = p.id and f.purpose <> 'refund'
    left join payment_proofs r on r.payment_id = p.id and r.purpose = 'refund'
  where p.chain_id = $1
  order by p.id`;

const THINGS = `
  select b.id, b.listing_id, '0x' || encode(b.payer, 'hex') as payer, '0x' || encode(l.seller_wallet, 'hex') as payee,
    l.price_units, '0x' || encode(f.tx_hash, 'hex') as proof_hash, '0x' || encode(f.block_hash, 'hex') as proof_block,
    f.block_number as proof_number, f.log_index as proof_log, f.value_units as proof_units
  from purchases b join listings l on l.id = b.listing_id join payment_proofs f on f.tx_hash = b.tx_hash
  where b.verified_via = 'city' and coalesce((to_jsonb(l) ->> 'chain_id')::bigint, $1) = $1 order by b.id`;

const CLAIMED = `
  select payment_id, '0x' || encode(tx_hash, 'hex') as tx_hash, refused_reason from claim_hashes order by place`;

/** Selects the facts that the log must record, in the form of `factOf`. */
const FACTS = `
  select 'purchase ' || b.id as name, 'sale of listing' as what,
    array[b.listing_id::text, 'by merchant', l.merchant_id::text, 'to', coalesce(m.handle, 'system'), 'for', b.paid_units::text,
      'via', b.verified_via, b.payment_id::text, '0x' || encode(coalesce(b.tx_hash, p.tx_hash), 'hex')] as parts
    from purchases b join listings l on l.id = b.listing_id left join merchants m on m.id = b.merchant_id
      left join payments p on p.id = b.payment_id where b.verified_via <> 'city'
  union all select 'purchase ' || b.id, 'sale of the thing of listing',
    array[b.listing_id::text, 'by merchant', l.merchant_id::text, 'for', b.paid_units::text, '0x' || encode(b.tx_hash, 'hex')]
    from purchases b join listings l on l.id = b.listing_id where b.verified_via = 'city'
  union all select 'listing ' || id, case when fee_id is null then 'maintainer_seed' else 'listing' end,
    array[id::text, 'of merchant', merchant_id::text, 'for', price_units::text] from listings
  union all select 'listing ' || id, 'end of the thing of listing', array[id::text] from listings where state = 'canceled'
  union all select 'payment ' || id, 'review of payment', array[id::text, review_outcome] from payments
    where review_outcome is not null`;

const RECOVERIES = `
  union all select 'recovery ' || id, 'recovery of blocks',
    array[from_block::text, to_block::text, 'events', kept_event_id::text, event_id::text] from recoveries`;

const TRANSFERS = `
  select '0x' || encode(tx_hash, 'hex') as tx_hash, log_index from payment_proofs
  union select '0x' || encode(tx_hash, 'hex'), (to_jsonb(payments) ->> 'log_index')::int from payments
    where tx_hash is not null and status <> 'unpaid' and chain_id = $1`;

const FIRST = `
  select (select min(block) from (select opened_block as block from payments where chain_id = $1
      union all select f.block_number from payment_proofs f left join payments p on p.id = f.payment_id
      where coalesce(p.chain_id, $1) = $1) seen)::float8 as block,
    extract(epoch from least((select min(at) from events), (select min(joined_at) from merchants)))::float8 as second`;

const COUNTS = `
  select (select count(*) from fees)::int as fees, (select count(*) from purchases)::int as purchases,
    (select count(*) from listings)::int as listings,
    (select count(*) from payments where chain_id <> $1)::int as elsewhere`;

const TREASURIES = `
  select distinct '0x' || encode(payee, 'hex') as wallet from (
    select payee, chain_id from payments where purpose = 'listing_fee'
    union all select payee, chain_id from payment_intents where purpose = 'listing_fee') fees where chain_id = $1 order by 1`;

const SELLERS = `
  select distinct '0x' || encode(seller_wallet, 'hex') as wallet from listings order by 1`;

/** Selects the log. Older schemas have no hashes. */
const LOG = (isHashed: boolean): string => `
  select queue_id, id, kind, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at, listing_id, canonical, in_door,
    in_window, nth_of_kind, nth_of_door, nth_of_window, ${
      isHashed
        ? 'nth, running_hash, extract(epoch from numbered_at)::float8 as numbered_at'
        : 'null::bigint as nth, null::bytea as running_hash, null::float8 as numbered_at'
    }
  from events order by id nulls last, queue_id`;

export interface BooksOrder {
  databaseUrl: string;
  chainId: bigint;
  rememberedId: string | null;
  say(progress: string): void;
}

/** Reads one consistent snapshot. Log and artifacts are checked while they stream, and are not kept. */
export async function readBooks({ databaseUrl, chainId, rememberedId, say }: BooksOrder): Promise<Books> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const all = async <Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> =>
    (await client.query<Row>(text, values)).rows;
  try {
    await client.query('begin isolation level repeatable read read only');
    const isHashed = await hasHashes(client);
    const log = await readLog(client, { isHashed, rememberedId, say });
    const facts = isHashed ? `${FACTS}${RECOVERIES}` : FACTS;
    const broken = [...log.faults, ...(await faultsOfTold(client, facts, log))];
    const counters = (await hasTable(client, 'listing_counters')) ? COUNTER_RULES : [];
    const votes = (await hasTable(client, 'buyer_votes')) ? VOTE_RULES : [];
    const rules = [...RULES, ...counters, ...votes];
    for (const [name, query] of rules) {
      const rows = await all(query);
      if (rows.length > 0) broken.push(`${name}: ${JSON.stringify(rows.slice(0, 5))}`);
    }
    const [counts] = await all<Pick<Books, 'fees' | 'purchases' | 'listings' | 'elsewhere'>>(COUNTS, [chainId]);
    const [first] = await all<Books['first']>(FIRST, [chainId]);
    return {
      payments: await all<PaymentLine>(PAYMENTS, [chainId]),
      claimed: await all<ClaimedHash>(CLAIMED),
      things: await all<ThingLine>(THINGS, [chainId]),
      proofs: await all<KnownTransfer>(TRANSFERS, [chainId]),
      ...(counts ?? { fees: 0, purchases: 0, listings: 0, elsewhere: 0 }),
      log,
      artifacts: await readArtifacts(client, say),
      treasuries: (await all<{ wallet: string }>(TREASURIES, [chainId])).map(({ wallet }) => wallet),
      sellers: (await all<{ wallet: string }>(SELLERS)).map(({ wallet }) => wallet),
      first: first ?? { block: null, second: null },
      broken,
    };
  } finally {
    await client.end();
  }
}

/** Number of log rows in memory at once. */
const LOG_ROWS = 2_000;

async function hasHashes(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    `select from information_schema.columns where table_name = 'events' and column_name = 'running_hash'`,
  );
  return rows.length > 0;
}

interface LogOrder extends Pick<BooksOrder, 'rememberedId' | 'say'> {
  isHashed: boolean;
}

async function readLog(client: pg.Client, { isHashed, rememberedId, say }: LogOrder): Promise<LogFound> {
  const baselines = isHashed
    ? (await client.query<Baseline>('select last_id, running_hash from event_log_baseline')).rows
    : null;
  const judge = createLogJudge(baselines, rememberedId);
  let seen = 0;
  for await (const rows of batchesOf<LogRow>(client, LOG(isHashed), LOG_ROWS)) {
    for (const row of rows) judge.take(row);
    seen += rows.length;
    say(`${seen} events of the log`);
  }
  return judge.end();
}

const LISTED = `
  select id, '0x' || encode(seller_wallet, 'hex') as wallet, price_units::text as units,
    '0x' || encode(artifact_commitment, 'hex') as commitment from listings`;
type Listed = Omit<Goods, 'id'> & { id: string };

async function faultsOfTold(client: pg.Client, query: string, { told, promises }: LogFound): Promise<string[]> {
  const faults = createFaults();
  for await (const rows of batchesOf<{ name: string; what: string; parts: string[] }>(client, query, LOG_ROWS)) {
    for (const { name, what, parts } of rows) {
      const fact = factOf(what, ...parts);
      if (!told.find(fact)) faults.add([`no event tells of this: ${fact} (${name})`]);
    }
  }
  for await (const rows of batchesOf<Listed>(client, LISTED, LOG_ROWS)) {
    for (const { id, ...listed } of rows) {
      const promised = promises.get(Number(id));
      if (promised !== undefined) faults.add(faultsOfPromise(promised, { id: Number(id), ...listed }));
    }
  }
  faults.add(told.left());
  return faults.list();
}

import sql, { type Sql } from 'sql-template-tag';
import type { Database } from '../../src/platform/database/database.ts';
import type { Answer } from './market-world.ts';

/** What a market has said with a 2xx, and to what. */
export interface Ack {
  method: string;
  path: string;
  body: Record<string, unknown>;
  status: number;
  said: Record<string, unknown>;
}

/** Everything that was acknowledged, to be held against the database later. */
export interface AckBook {
  note(method: string, path: string, body: unknown, answer: Answer): void;
  size(): number;
  /** By kind. */
  counts(): Record<string, number>;
  /** What is not true any more, in words; from that place in the book. */
  broken(database: Database, from?: number): Promise<string[]>;
}

export function createAckBook(): AckBook {
  const acks: Ack[] = [];
  return {
    note: (method, path, body, { status, body: said }) => {
      if (method === 'GET' || status < 200 || status > 299) return;
      acks.push({ method, path, body: (body ?? {}) as Record<string, unknown>, status, said });
    },
    size: () => acks.length,
    counts: () => {
      const kinds = Map.groupBy(acks, ({ method, path, status }) => `${method} ${path.split('/')[2]} ${status}`);
      return Object.fromEntries([...kinds].map(([kind, all]) => [kind, all.length]).sort());
    },
    broken: async (database, from = 0) => {
      const faults: string[] = [];
      for (const ack of acks.slice(from)) {
        for (const proof of proofsOf(ack)) {
          if ((await database.rows(proof)).length === 1) continue;
          faults.push(`${ack.method} ${ack.path} was answered ${ack.status} ${JSON.stringify(ack.said).slice(0, 400)}`);
        }
      }
      return faults;
    },
  };
}

const record = (value: unknown): Record<string, unknown> | null =>
  value !== null && typeof value === 'object' ? (value as Record<string, unknown>) : null;

/** For each thing that the answer says, a query that finds exactly one row as long as it is true. */
function proofsOf({ path, body, said, method }: Ack): Sql[] {
  const proofs: Sql[] = [];
  const payment = record(said['payment']);
  if (payment !== null) proofs.push(ofPayment(payment));
  const intent = record(said['purchase_intent']) ?? record(said['fee_intent']);
  if (intent !== null) {
    const id = Buffer.from(String(intent['id']), 'hex');
    proofs.push(sql`select from payment_intents where id = ${id} and challenge = ${intent['challenge']}`);
  }
  const purchase = record(said['purchase']);
  if (purchase !== null) proofs.push(ofPurchase(purchase, said));
  const listing = record(said['listing']);
  if (method === 'PATCH' && listing !== null) proofs.push(ofEdit(listing, body));
  else if (path.endsWith('/withdraw') || method === 'DELETE') {
    proofs.push(sql`select from listings where id = ${listing?.['id']} and state = 'withdrawn'
      and withdrawn_reason is not distinct from ${body['reason'] ?? null}`);
  } else if ('listing_id' in said && listing !== null) proofs.push(ofListing(said, body));
  if (path === '/api/vote') {
    proofs.push(
      sql`select where (select count(*) from votes where listing_id = ${said['listing_id']}) >= ${said['votes']}`,
    );
  }
  if (said['status'] === 'confirmed') {
    proofs.push(sql`select from merchants where id = ${said['merchant_id']} and handle = ${said['handle']}`);
  }
  // A stage shows a key that belongs to no merchant yet, and promises only that it can be confirmed.
  if (proofs.length === 0 && said['status'] !== 'staged')
    throw new Error(`what does ${path} say? ${JSON.stringify(said)}`);
  return proofs;
}

/** What was taken on is still being done, or was done. */
function ofPayment(payment: Record<string, unknown>): Sql {
  const outcome = payment['outcome'] ?? null;
  return payment['payment_status'] === 'payment_pending'
    ? sql`select from payments where id = ${payment['id']} and status not in ('unpaid', 'rejected')`
    : sql`select from payments where id = ${payment['id']} and review_outcome = ${outcome}`;
}

function ofPurchase(purchase: Record<string, unknown>, said: Record<string, unknown>): Sql {
  const hash = Buffer.from(String(purchase['tx_hash']).slice(2), 'hex');
  return sql`select from purchases p join artifacts a using (listing_id) where p.id = ${purchase['id']}
    and p.listing_id = ${said['listing_id']} and p.tx_hash = ${hash} and convert_from(a.content, 'UTF8') = ${said['artifact']}`;
}

function ofEdit(listing: Record<string, unknown>, body: Record<string, unknown>): Sql {
  return sql`select from listings where id = ${listing['id']} and description = ${body['description']}`;
}

function ofListing(said: Record<string, unknown>, body: Record<string, unknown>): Sql {
  const fee = record(said['fee']);
  const txHash = fee?.['tx_hash'];
  const hash = typeof txHash === 'string' ? Buffer.from(txHash.slice(2), 'hex') : null;
  return sql`select from listings l left join fees f on f.id = l.fee_id where l.id = ${said['listing_id']}
    and l.title = ${body['title']} and f.tx_hash is not distinct from ${hash}`;
}

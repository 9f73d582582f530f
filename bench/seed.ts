import sql from 'sql-template-tag';
import { AISLES } from '../src/contract/vocabulary.ts';
import { testAccount } from '../src/local/chain/accounts.ts';
import { sha256 } from '../src/platform/canonical-json.ts';
import type { Database, Tx } from '../src/platform/database/database.ts';
import { type Hex, toBytes } from '../src/platform/hex.ts';
import { createPepperFrom } from '../src/platform/pepper.ts';
import { systemRandom } from '../src/platform/random.ts';
import { makeMerchantKey } from '../src/platform/secrets.ts';

export interface Goods {
  id: bigint;
  payee: Hex;
  /** Unique per listing, so that a transfer shows what it paid for. */
  priceUnits: bigint;
  artifact: string;
}

export interface Seeded {
  goods: Goods[];
  buyerKeys: string[];
}

const SELLERS = 40;
const PAST_BUYERS = 10;
const BASE_PRICE_UNITS = 1_000_000n;
const START = Date.UTC(2026, 0, 5, 12);
/** Listings in `world` are things of a city, which are not sold by `POST /api/buy/:id`. */
export const SEEDED_AISLES = AISLES.filter((aisle) => aisle !== 'world');

/** Fills shelves like a used market's, with usual text lengths, many sellers and some sales. In bulk, because requests are slow. */
export async function seed(
  database: Database,
  given: { listings: number; buyers: number; pepper: Buffer },
): Promise<Seeded> {
  const goods = Array.from({ length: given.listings }, (_, index) => goodsOf(BigInt(index + 1)));
  const buyerKeys = Array.from({ length: given.buyers }, () => makeMerchantKey(systemRandom, 'aisle'));
  await database.transaction(async (tx) => {
    await insertMerchants(tx, SELLERS + PAST_BUYERS + given.buyers);
    await insertKeys(tx, buyerKeys, given.pepper);
    await insertListings(tx, goods);
    await insertTakers(tx);
  });
  await database.run(sql`analyze`);
  return { goods, buyerKeys };
}

/** Returns the listing of that number, even before it is inserted. */
export function goodsOf(id: bigint): Goods {
  return {
    id,
    payee: testAccount(`bench seller ${id % BigInt(SELLERS)}`).address,
    priceUnits: BASE_PRICE_UNITS + id,
    artifact: `goods of listing ${id}: ${sha256(`goods ${id}`).toString('hex').repeat(16)}`,
  };
}

async function insertMerchants(tx: Tx, count: number): Promise<void> {
  await tx.run(sql`
    insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at)
    select n, 'merchant-' || n, 'merchant-' || n, 'a model', 'coding_persistent', ${new Date(START)}
    from generate_series(1, ${count}::int) n`);
}

async function insertKeys(tx: Tx, keys: readonly string[], secret: Buffer): Promise<void> {
  const pepper = createPepperFrom(new Map([[1, secret]]));
  for (const [index, key] of keys.entries()) {
    await tx.run(sql`
      insert into merchant_keys (key_hash, pepper_version, merchant_id, created_at)
      values (${pepper.hash(key)}, 1, ${SELLERS + PAST_BUYERS + index + 1}, ${new Date(START)})`);
  }
}

async function insertListings(tx: Tx, goods: readonly Goods[]): Promise<void> {
  const wallets = [...new Set(goods.map(({ payee }) => payee))].map(toBytes);
  await tx.run(
    sql`insert into wallet_uses (wallet, kind) select wallet, 'ordinary' from unnest(${wallets}::bytea[]) wallet`,
  );
  const rows = goods.map(({ id, payee, priceUnits, artifact }) => {
    const salt = sha256(`salt ${id}`);
    return {
      id: Number(id),
      seller: Number(id % BigInt(SELLERS)) + 1,
      title: `Goods number ${id}, ready to be used`,
      description: words(id, 90),
      preview: words(id + 7n, 45),
      price: Number(priceUnits),
      wallet: payee.slice(2),
      aisle: SEEDED_AISLES[Number(id) % SEEDED_AISLES.length],
      at: new Date(START + Number(id) * 60_000).toISOString(),
      commitment: sha256(salt, Buffer.from(artifact)).toString('hex'),
      bytes: Buffer.byteLength(artifact),
      body: sha256(`body ${id}`).toString('hex'),
      salt: salt.toString('hex'),
      artifact,
    };
  });
  const given = sql`jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as g (id int8, seller int8, title text, description text,
    preview text, price int8, wallet text, aisle text, at timestamptz, commitment text, bytes int, body text, salt text, artifact text)`;
  await tx.run(sql`
    insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, aisle, created_at,
      artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, body_hash)
    select g.id, g.seller, g.title, g.description, g.preview, g.price, decode(g.wallet, 'hex'), array['made', 'for-agents'], g.aisle,
      g.at, decode(g.commitment, 'hex'), g.bytes, 'utf-8', 'text/plain; charset=utf-8', decode(g.body, 'hex')
    from ${given}`);
  await tx.run(sql`
    insert into artifacts (listing_id, salt, content)
    select g.id, decode(g.salt, 'hex'), convert_to(g.artifact, 'UTF8') from ${given}`);
}

/** Adds 0 to 9 sales per listing, because a read counts them. */
async function insertTakers(tx: Tx): Promise<void> {
  await tx.run(sql`
    insert into purchases (listing_id, merchant_id, price_units, paid_units, verified_via, created_at)
    select l.id, ${SELLERS}::int8 + n, 0, 0, 'free', l.created_at
    from listings l cross join lateral generate_series(1, (l.id % ${PAST_BUYERS}::int8)::int) n`);
}

const VOCABULARY =
  'agent prompt table answer careful short tested data source city letter number plan draft tool guide'.split(' ');

function words(from: bigint, count: number): string {
  const start = Number(from % 1_000n);
  return Array.from({ length: count }, (_, index) => VOCABULARY[(start + index * 7 + ((index * start) % 5)) % 16]).join(
    ' ',
  );
}

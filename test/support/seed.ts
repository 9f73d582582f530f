import sql from 'sql-template-tag';
import type { Aisle, EventKind } from '../../src/contract/vocabulary.ts';
import { SCOPE_KINDS } from '../../src/contract/vocabulary.ts';
import type { StoredGoods } from '../../src/market/goods/object-store.ts';
import { canonicalJson, sha256 } from '../../src/platform/canonical-json.ts';
import type { Database, Queryable } from '../../src/platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../src/platform/hex.ts';

/** Inserts rows directly, for tests of reads. Omitted fields get unique made-up values. */

let last = 0;
const next = (): number => ++last;
const bytes = (what: string, length: number): Buffer => sha256(`${what} ${next()}`).subarray(0, length);

export const SEED_TIME = new Date(Date.UTC(2026, 0, 5, 12, 0, 0));
const later = (): Date => new Date(SEED_TIME.getTime() + next());

export interface SeededMerchant {
  id: bigint;
  handle: string;
}

export async function seedMerchant(database: Database, given: { handle?: string } = {}): Promise<SeededMerchant> {
  const handle = given.handle ?? `merchant-${next()}`;
  return database.transaction(async (tx) => {
    await tx.lock('merchants');
    return tx.one<SeededMerchant>(sql`
      insert into merchants (id, handle, handle_skeleton, model, client_class, joined_at)
      values ((select coalesce(max(id), 0) + 1 from merchants), ${handle}, ${handle}, 'a model', 'coding_persistent', ${later()})
      returning id, handle`);
  });
}

export interface SeedListing {
  title?: string;
  priceUnits?: bigint;
  wallet?: Hex;
  aisle?: Aisle;
  tags?: string[];
  keywords?: readonly string[];
  license?: string;
  pinned?: boolean;
  feeId?: bigint;
  artifact?: string | Buffer;
  /** The goods are this upload, in place of `artifact`. */
  stored?: StoredGoods;
  filename?: string;
}

export interface SeededListing {
  id: bigint;
  wallet: Hex;
}

/** Inserts a live listing, without a fee unless one is given. */
export async function seedListing(
  database: Database,
  merchantId: bigint,
  given: SeedListing = {},
): Promise<SeededListing> {
  const wallet = given.wallet === undefined ? bytes('wallet', 20) : toBytes(given.wallet);
  const artifact = given.artifact ?? `artifact ${next()}`;
  const content = Buffer.from(artifact);
  const { salt, commitment, bytes: size } = given.stored ?? digestOf(content);
  const encoding = typeof artifact === 'string' && !given.stored ? 'utf-8' : 'base64';
  return database.transaction(async (tx) => {
    await tx.lock('listings');
    await tx.run(sql`insert into wallet_uses (wallet, kind) values (${wallet}, 'ordinary') on conflict do nothing`);
    const { id } = await tx.one<{ id: bigint }>(sql`
      insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, aisle, pinned,
        created_at, artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, artifact_filename, body_hash,
        fee_id)
      values ((select coalesce(max(id), 0) + 1 from listings), ${merchantId}, ${given.title ?? `Goods ${next()}`},
        'What it is', 'A look at it', ${given.priceUnits ?? 2_500_000n}, ${wallet}, ${given.tags ?? []},
        ${given.aisle ?? 'other'}, ${given.pinned ?? false}, ${later()}, ${commitment}, ${size}, ${encoding}, 'text/plain; charset=utf-8',
        ${given.filename ?? null}, ${bytes('body', 32)}, ${given.feeId ?? null})
      returning id`);
    await putGoods(tx, id, { salt, content, stored: given.stored });
    await putNewerFields(tx, [id], [given]);
    return { id, wallet: toHex(wallet) };
  });
}

function digestOf(content: Buffer): { salt: Buffer; commitment: Buffer; bytes: number } {
  const salt = bytes('salt', 32);
  return { salt, commitment: sha256(salt, content), bytes: content.length };
}

async function putGoods(
  tx: Queryable,
  id: bigint,
  { salt, content, stored }: { salt: Buffer; content: Buffer; stored: StoredGoods | undefined },
): Promise<void> {
  // Older versions of the table lack object_id.
  await tx.run(
    stored === undefined
      ? sql`insert into artifacts (listing_id, salt, content) values (${id}, ${salt}, ${content})`
      : sql`insert into artifacts (listing_id, salt, object_id) values (${id}, ${salt}, ${stored.objectId})`,
  );
}

/** Separate statements, because older versions of the table lack these columns. */
async function putNewerFields(
  tx: Queryable,
  ids: readonly bigint[],
  goods: readonly { license?: string | null; keywords?: readonly string[] }[],
): Promise<void> {
  for (const [at, { license, keywords = [] }] of goods.entries()) {
    if (license) await tx.run(sql`update listings set license = ${license} where id = ${ids[at]}`);
    if (keywords.length > 0) await tx.run(sql`update listings set keywords = ${keywords} where id = ${ids[at]}`);
  }
}

/** Withdraws live listings only, as the market does. */
export async function withdrawListing(database: Database, id: bigint): Promise<void> {
  await database.run(sql`
    update listings set state = 'withdrawn', withdrawn_at = ${later()}, withdrawn_reason = 'enough'
    where id = ${id} and state = 'live'`);
}

/** Removes as merchant 1, the maintainer. Skips listings that are removed or have ended. */
export async function removeListing(database: Database, id: bigint): Promise<void> {
  await database.run(sql`
    with gone as (
      update listings set state = 'removed', removed_at = ${later()}, removed_reason = 'not allowed',
        removed_reason_code = 'policy'
      where id = ${id} and state in ('live', 'withdrawn') returning *
    )
    insert into removals (listing_id, reason_code, reason, removed_by, removed_at)
    select id, removed_reason_code, removed_reason, 1, removed_at from gone`);
}

export async function pinListing(database: Database, id: bigint, pinned: boolean): Promise<void> {
  await database.run(sql`update listings set pinned = ${pinned} where id = ${id}`);
}

/** Moves a listing to another aisle, as an edit does. */
export async function moveListing(database: Database, id: bigint, aisle: Aisle): Promise<void> {
  await database.run(sql`update listings set aisle = ${aisle} where id = ${id}`);
}

/** Reverses a removal as a granted appeal does. A listing that was withdrawn before is withdrawn again. */
export async function restoreListing(database: Database, id: bigint): Promise<void> {
  await database.run(sql`
    with back as (
      update listings set state = case when withdrawn_at is null then 'live' else 'withdrawn' end, removed_at = null,
        removed_reason = null, removed_reason_code = null
      where id = ${id} and state = 'removed' returning id
    )
    update removals set restored_at = ${later()} from back where listing_id = back.id and restored_at is null`);
}

/** Empties the shelves for the next round of a property test. */
export async function hideAllListings(database: Database): Promise<void> {
  await database.run(sql`
    update listings set state = 'withdrawn', withdrawn_at = ${SEED_TIME} where state = 'live'`);
}

interface Paid {
  paymentId: bigint;
  txHash: Buffer;
  payer: Buffer;
  valueUnits: bigint;
}

interface OpenPayment {
  purpose: 'purchase' | 'listing_fee';
  listingId: bigint | null;
  merchantId: bigint | null;
  payer?: Buffer;
  valueUnits?: bigint;
  validBefore?: bigint | undefined;
}

type Bought = Required<Omit<OpenPayment, 'validBefore'>>;

/** Inserts an undecided payment and returns its id. */
export async function seedOpenPayment(
  database: Database,
  { purpose, listingId, merchantId, payer = bytes('payer', 20), valueUnits = 1_000_000n, validBefore }: OpenPayment,
): Promise<bigint> {
  const at = later();
  const { id } = await database.one<{ id: bigint }>(sql`
    insert into payments (purpose, path, status, listing_id, merchant_id, body_hash, chain_id, asset, payee, payer, value_units,
      nonce, valid_after, valid_before, opened_block, created_at, updated_at)
    values (${purpose}, 'x402', 'verifying', ${listingId}, ${merchantId},
      ${purpose === 'listing_fee' ? bytes('body', 32) : null}, 8453, ${bytes('asset', 20)}, ${bytes('payee', 20)}, ${payer},
      ${valueUnits}, ${bytes('nonce', 32)}, 0, ${validBefore ?? 2_000_000_000n}, 1, ${at}, ${at})
    returning id`);
  return id;
}

/** Inserts a completed payment with its proof. */
async function seedPayment(database: Database, bought: Bought): Promise<Paid> {
  const { purpose, payer, valueUnits } = bought;
  const txHash = bytes('tx', 32);
  const block = next();
  const at = later();
  const id = await seedOpenPayment(database, bought);
  await database.run(sql`
    insert into payment_proofs (tx_hash, purpose, payment_id, block_number, block_hash, block_time, log_index, value_units, written_at)
    values (${txHash}, ${purpose}, ${id}, ${block}, ${bytes('block', 32)}, ${at}, 0, ${valueUnits}, ${at})`);
  await database.run(sql`
    update payments set status = 'completed', tx_hash = ${txHash}, block_number = ${block}, block_time = ${at}, ended_at = ${at}
    where id = ${id}`);
  return { paymentId: id, txHash, payer, valueUnits };
}

/** Inserts an x402 purchase, paid by a wallet, for a merchant or for no merchant. */
export async function seedPaidPurchase(
  database: Database,
  listingId: bigint,
  given: { merchantId?: bigint; payer?: Hex; payerCollectsOnly?: boolean } = {},
): Promise<{ id: bigint; txHash: Hex }> {
  const { price_units: price } = await database.one<{ price_units: bigint }>(
    sql`select price_units from listings where id = ${listingId}`,
  );
  const paid = await seedPayment(database, {
    purpose: 'purchase',
    listingId,
    merchantId: given.merchantId ?? null,
    payer: given.payer === undefined ? bytes('payer', 20) : toBytes(given.payer),
    valueUnits: price,
  });
  const { id } = await database.one<{ id: bigint }>(sql`
    insert into purchases (listing_id, merchant_id, payer, payment_id, price_units, paid_units, tx_hash, block_number,
      verified_via, payer_collects_only, created_at)
    select ${listingId}, ${given.merchantId ?? null}, ${paid.payer}, ${paid.paymentId}, ${price}, ${price}, tx_hash, block_number,
      'x402', ${given.payerCollectsOnly ?? false}, written_at
    from payment_proofs where payment_id = ${paid.paymentId}
    returning id`);
  return { id, txHash: toHex(paid.txHash) };
}

/** Records that a merchant took free goods with its key. */
export async function seedFreePurchase(database: Database, listingId: bigint, merchantId: bigint): Promise<bigint> {
  const { id } = await database.one<{ id: bigint }>(sql`
    insert into purchases (listing_id, merchant_id, price_units, paid_units, verified_via, created_at)
    values (${listingId}, ${merchantId}, 0, 0, 'free', ${later()}) returning id`);
  return id;
}

/** Inserts a paid listing fee, which is a credit until a listing uses it. */
export async function seedFee(database: Database, merchantId: bigint): Promise<bigint> {
  const payer = bytes('payer', 20);
  const paid = await seedPayment(database, {
    purpose: 'listing_fee',
    listingId: null,
    merchantId,
    payer,
    valueUnits: 1_000_000n,
  });
  return database.transaction(async (tx) => {
    await tx.lock('listings');
    const { id } = await tx.one<{ id: bigint }>(sql`
      insert into fees (id, merchant_id, payment_id, amount_units, running_units, tx_hash, verified_via, block_time, created_at)
      select coalesce(max(id), 0) + 1, ${merchantId}, ${paid.paymentId}, ${paid.valueUnits},
        coalesce(max(running_units), 0) + ${paid.valueUnits}, ${paid.txHash}, 'x402', ${later()}, ${later()}
      from fees
      returning id`);
    return id;
  });
}

/** Inserts an event with its number. Do not use it with a running sequencer. */
export async function seedEvent(
  database: Database,
  kind: EventKind,
  detail: Readonly<Record<string, unknown>> = {},
  actor = 'system',
): Promise<void> {
  const at = later();
  const canonical = Buffer.from(canonicalJson({ actor, at: at.toISOString(), detail, kind }));
  const inDoor = SCOPE_KINDS.door.includes(kind);
  const inWindow = SCOPE_KINDS.window.includes(kind);
  await database.run(sql`
    insert into events (kind, at, canonical, in_door, in_window, listing_id)
    values (${kind}, ${at}, ${canonical}, ${inDoor}, ${inWindow}, ${detail['listing_id'] ?? null})`);
  await database.run(sql`
    update events set id = n.id, nth_of_kind = n.of_kind, nth_of_door = n.of_door, nth_of_window = n.of_window
    from (
      select count(*) filter (where id is not null) + 1 as id, count(*) filter (where kind = ${kind}) as of_kind,
        count(*) filter (where in_door) as of_door, count(*) filter (where in_window) as of_window
      from events
    ) n where events.id is null`);
}

export interface SeedGoods {
  title: string;
  description?: string;
  preview?: string;
  tags?: readonly string[];
  keywords?: readonly string[];
  aisle?: Aisle;
  license?: string | null;
  priceUnits?: bigint;
  pinned?: boolean;
}

/** Inserts many live listings in one transaction, in order. Returns their ids. */
export async function seedStock(
  database: Database,
  merchantId: bigint,
  stock: readonly SeedGoods[],
): Promise<bigint[]> {
  const at = later();
  const batch = next();
  const rows = stock.map((goods, index) => ({
    place: index + 1,
    title: goods.title,
    description: goods.description ?? 'What it is',
    preview: goods.preview ?? 'A look at it',
    tags: goods.tags ?? [],
    aisle: goods.aisle ?? 'other',
    price: String(goods.priceUnits ?? 2_500_000n),
    pinned: goods.pinned ?? false,
  }));
  return database.transaction(async (tx) => {
    await tx.lock('listings');
    const given = JSON.stringify(rows);
    await tx.run(sql`
      insert into wallet_uses (wallet, kind)
      select substr(sha256(convert_to('wallet ' || ${batch}::int || ' ' || r.place, 'UTF8')), 1, 20), 'ordinary'
      from jsonb_to_recordset(${given}::jsonb) r (place int)`);
    const made = await tx.rows<{ id: bigint }>(sql`
      insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, aisle, pinned,
        created_at, artifact_commitment, artifact_bytes, artifact_encoding, artifact_media_type, body_hash)
      select (select coalesce(max(id), 0) from listings) + r.place, ${merchantId}, r.title, r.description, r.preview, r.price,
        substr(sha256(convert_to('wallet ' || ${batch}::int || ' ' || r.place, 'UTF8')), 1, 20), r.tags, r.aisle, r.pinned, ${at},
        sha256(convert_to('artifact ' || ${batch}::int || ' ' || r.place, 'UTF8')), 8, 'utf-8', 'text/plain; charset=utf-8',
        sha256(convert_to('body ' || ${batch}::int || ' ' || r.place, 'UTF8'))
      from jsonb_to_recordset(${given}::jsonb)
        r (place int, title text, description text, preview text, price bigint, tags text[], aisle text, pinned boolean)
      order by r.place
      returning id`);
    const ids = made.map(({ id }) => id);
    await putNewerFields(tx, ids, stock);
    return ids;
  });
}

/** Changes a listing as an edit does. Omitted fields stay the same, and so does the license of a listing that was bought. */
export async function editListing(
  database: Database,
  id: bigint,
  given: Omit<SeedGoods, 'priceUnits' | 'pinned' | 'title'> & { title?: string },
): Promise<void> {
  await database.run(sql`
    update listings set title = coalesce(${given.title ?? null}, title),
      description = coalesce(${given.description ?? null}, description), preview = coalesce(${given.preview ?? null}, preview),
      tags = coalesce(${given.tags ?? null}::text[], tags), aisle = coalesce(${given.aisle ?? null}, aisle)
    where id = ${id}`);
  if (given.keywords !== undefined)
    await database.run(sql`update listings set keywords = ${given.keywords} where id = ${id}`);
  if (given.license === undefined) return;
  await database.run(sql`
    update listings set license = ${given.license}
    where id = ${id} and not exists (select from purchases where listing_id = ${id})`);
}

/** Inserts a vote. A second vote of the same merchant changes no row. */
export async function seedVote(database: Database, listingId: bigint, merchantId: bigint): Promise<void> {
  await database.run(sql`
    insert into votes (listing_id, merchant_id, created_at) values (${listingId}, ${merchantId}, ${later()})
    on conflict do nothing`);
}

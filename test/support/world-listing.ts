import sql from 'sql-template-tag';
import { sha256 } from '../../src/platform/canonical-json.ts';
import type { Database, Tx } from '../../src/platform/database/database.ts';
import { type Hex, toBytes, toHex } from '../../src/platform/hex.ts';
import { SEED_TIME, seedMerchant } from './seed.ts';

/** Inserts rows about city things directly, for tests without a city. Omitted fields get made-up values. */

let last = 0;
const next = (): number => ++last;
const bytes = (what: string, length: number): Buffer => sha256(`world ${what} ${next()}`).subarray(0, length);
const later = (): Date => new Date(SEED_TIME.getTime() + next());

export const SEED_CITY = 'https://city.example';

export interface SeedWorldListing {
  title?: string;
  preview?: string;
  priceUnits?: bigint;
  wallet?: Hex;
  tags?: string[];
  feeId?: bigint;
  /** Origin of the city. */
  origin?: string;
  offerId?: bigint;
  thingId?: bigint;
  sellerHandle?: string;
}

export interface SeededWorldListing {
  id: bigint;
  draftId: bigint;
  offerId: bigint;
  thingId: bigint;
  wallet: Hex;
  priceUnits: bigint;
}

/** Inserts a live listing of a thing with its draft, without a fee unless one is given. */
export async function seedWorldListing(
  database: Database,
  merchantId: bigint,
  given: SeedWorldListing = {},
): Promise<SeededWorldListing> {
  const wallet = given.wallet === undefined ? bytes('wallet', 20) : toBytes(given.wallet);
  const priceUnits = given.priceUnits ?? 4_000_000n;
  const offerId = given.offerId ?? BigInt(1_000 + next());
  const thingId = given.thingId ?? BigInt(1_000 + next());
  const goods = {
    title: given.title ?? `Thing ${next()}`,
    preview: given.preview ?? 'A look at it',
    tags: given.tags ?? [],
  };
  return database.transaction(async (tx) => {
    await tx.lock('listings');
    await tx.lock('world_drafts');
    await tx.run(sql`insert into wallet_uses (wallet, kind) values (${wallet}, 'world') on conflict do nothing`);
    const { id } = await tx.one<{ id: bigint }>(sql`
      insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, wallet_kind, tags, aisle,
        created_at, body_hash, fee_id)
      values ((select coalesce(max(id), 0) + 1 from listings), ${merchantId}, ${goods.title}, 'What it is', ${goods.preview},
        ${priceUnits}, ${wallet}, 'world', ${goods.tags}, 'world', ${later()}, ${bytes('body', 32)}, ${given.feeId ?? null})
      returning id`);
    const { id: draftId } = await tx.one<{ id: bigint }>(sql`
      insert into world_drafts (id, merchant_id, title, description, preview, price_units, seller_wallet, tags, thing_id, state,
        offer_id, listing_id, held_wallet, created_at, expires_at, ended_at)
      values ((select coalesce(max(id), 0) + 1 from world_drafts), ${merchantId}, ${goods.title}, 'What it is', ${goods.preview},
        ${priceUnits}, ${wallet}, ${goods.tags}, ${thingId}, 'listed', ${offerId}, ${id}, ${wallet}, ${SEED_TIME},
        ${later()}, ${later()})
      returning id`);
    await insertWorldListing(tx, { ...given, id, draftId, offerId, thingId });
    return { id, draftId, offerId, thingId, wallet: toHex(wallet), priceUnits };
  });
}

async function insertWorldListing(
  tx: Tx,
  given: SeedWorldListing & Pick<SeededWorldListing, 'id' | 'draftId' | 'offerId' | 'thingId'>,
): Promise<void> {
  const { origin = SEED_CITY, offerId, thingId } = given;
  await tx.run(sql`
    insert into world_listings (listing_id, draft_id, city_origin, offer_id, thing_id, seller_handle, offer_url, thing_url, phase,
      looked_at)
    values (${given.id}, ${given.draftId}, ${origin}, ${offerId}, ${thingId}, ${given.sellerHandle ?? 'resident-one'},
      ${`${origin}/offer/${offerId}`}, ${`${origin}/thing/${thingId}`}, 'listed', ${SEED_TIME})`);
}

export interface SeedCheckout {
  merchantId: bigint;
  cityHandle?: string;
}

/** Inserts an open checkout of any listing of a thing. */
export async function seedCheckout(tx: Tx, listingId: bigint, given: SeedCheckout): Promise<bigint> {
  await tx.lock('world_checkouts');
  const { id } = await tx.one<{ id: bigint }>(sql`
    insert into world_checkouts (id, listing_id, merchant_id, city_handle, offer_id, created_at, expires_at)
    select (select coalesce(max(id), 0) + 1 from world_checkouts), listing_id, ${given.merchantId},
      ${given.cityHandle ?? 'resident-two'}, offer_id, ${later()}, ${later()}
    from world_listings where listing_id = ${listingId}
    returning id`);
  return id;
}

export interface SeedWorldSale extends SeedCheckout {
  payer?: Hex;
  /** A real transfer on a chain. Made up if omitted. */
  transfer?: { txHash: Hex; blockNumber: bigint; blockHash: Hex; logIndex: number };
}

export interface SeededWorldSale {
  id: bigint;
  checkoutId: bigint;
  txHash: Hex;
  blockNumber: bigint;
  claimedAt: Date;
}

/** Inserts the result of a completed sale in one transaction: listing, checkout, proof and purchase. */
export async function seedWorldSale(
  database: Database,
  listingId: bigint,
  given: SeedWorldSale,
): Promise<SeededWorldSale> {
  const claimedAt = later();
  const transfer = given.transfer ?? {
    ...{ txHash: toHex(bytes('tx', 32)), blockNumber: BigInt(next()) },
    ...{ blockHash: toHex(bytes('block', 32)), logIndex: 0 },
  };
  const { blockNumber } = transfer;
  const [txHash, blockHash] = [toBytes(transfer.txHash), toBytes(transfer.blockHash)];
  const payer = given.payer === undefined ? bytes('payer', 20) : toBytes(given.payer);
  return database.transaction(async (tx) => {
    const checkoutId = await seedCheckout(tx, listingId, given);
    await tx.run(sql`update world_checkouts set state = 'completed' where id = ${checkoutId}`);
    await tx.run(sql`update listings set state = 'sold' where id = ${listingId}`);
    await tx.run(sql`update world_listings set phase = 'claimed' where listing_id = ${listingId}`);
    await tx.run(sql`
      insert into payment_proofs (tx_hash, purpose, world_listing_id, block_number, block_hash, block_time, log_index, value_units,
        written_at)
      select ${txHash}, 'city', id, ${blockNumber}, ${blockHash}, ${claimedAt}, ${transfer.logIndex}, price_units, ${claimedAt}
      from listings where id = ${listingId}`);
    const { id } = await tx.one<{ id: bigint }>(sql`
      insert into purchases (listing_id, world_listing_id, checkout_id, merchant_id, payer, price_units, paid_units, tx_hash,
        block_number, verified_via, claimed_at, created_at)
      select id, id, ${checkoutId}, ${given.merchantId}, ${payer}, price_units, price_units, ${txHash}, ${blockNumber}, 'city',
        ${claimedAt}, ${claimedAt}
      from listings where id = ${listingId}
      returning id`);
    return { id, checkoutId, txHash: transfer.txHash, blockNumber, claimedAt };
  });
}

/** Ends a listing as the outcome of its offer would. */
export async function endWorldListing(
  database: Database,
  id: bigint,
  state: 'sold' | 'canceled' | 'stale',
): Promise<void> {
  if (state === 'sold') await seedWorldSale(database, id, { merchantId: (await seedMerchant(database)).id });
  else await database.run(sql`update listings set state = ${state} where id = ${id}`);
}

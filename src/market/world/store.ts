import type { Sql } from 'sql-template-tag';
import sql from 'sql-template-tag';
import type { CheckoutState } from '../../contract/world-records.ts';
import type { Queryable, Tx } from '../../platform/database/database.ts';
import { Refusal } from '../../platform/refusal.ts';

export async function findCityHandle(queryable: Queryable, merchantId: bigint): Promise<string | null> {
  const { city_handle: handle } = await queryable.one<{ city_handle: string | null }>(
    sql`select city_handle from merchants where id = ${merchantId}`,
  );
  return handle;
}

/** Writes nothing if unchanged, so that no catalog needs an update. */
export async function setCityHandle(queryable: Queryable, merchantId: bigint, handle: string | null): Promise<void> {
  await queryable.run(
    sql`update merchants set city_handle = ${handle}::text
      where id = ${merchantId} and city_handle is distinct from ${handle}::text`,
  );
}

/** Whether a missing id may have been shown before, because a recovery skipped it. */
export async function mayHaveBeenShown(
  queryable: Queryable,
  kind: 'world_drafts' | 'world_checkouts',
  id: bigint,
): Promise<boolean> {
  const { shown } = await queryable.one<{ shown: boolean }>(
    sql`select exists (select from id_floors where kind = ${kind} and id >= ${id}) as shown`,
  );
  return shown;
}

/** Buyer and time of the reservation, according to the city. */
interface LostCheckout {
  marketBuyer: string;
  cityHandle: string;
  reservedAt: Date;
}

/**
 * Returns the merchant with this handle if it names that resident here, had joined before the reservation, and a recovery followed;
 * otherwise null. The city's word alone makes no merchant a buyer.
 */
export async function findLostBuyer(
  queryable: Queryable,
  { marketBuyer, cityHandle, reservedAt }: LostCheckout,
): Promise<bigint | null> {
  const row = await queryable.maybe<{ id: bigint }>(sql`
    select id from merchants where handle = ${marketBuyer} and city_handle = ${cityHandle} and joined_at <= ${reservedAt}
      and exists (select from recoveries where recoveries.at > ${reservedAt})`);
  return row?.id ?? null;
}

/** Restores a checkout under its own id as completed, so that no resident can reserve with it. */
export async function restoreCheckout(tx: Tx, checkout: Checkout): Promise<void> {
  await tx.run(sql`
    insert into world_checkouts (id, listing_id, merchant_id, city_handle, offer_id, state, created_at, expires_at)
    values (${checkout.id}, ${checkout.listingId}, ${checkout.merchantId}, ${checkout.cityHandle}, ${checkout.offerId}, 'completed',
      ${checkout.createdAt}, ${checkout.expiresAt})`);
}

const LOST_DETAILS = {
  world_drafts: 'This market has lost the record of this draft.',
  world_checkouts: 'This market has lost the record of this checkout.',
} as const;

/** Refuses an unknown draft or checkout id that this market may have lost, because a thing may have been sold under that id. */
export async function mustNotBeLost(queryable: Queryable, kind: keyof typeof LOST_DETAILS, id: bigint): Promise<void> {
  if (await mayHaveBeenShown(queryable, kind, id)) throw new Refusal('listing_lost', { detail: LOST_DETAILS[kind] });
}

/** The allowed steps of a checkout, as in the trigger `world_checkouts_step`. A sale can also complete an expired or closed one. */
export const CHECKOUT_STEPS = {
  expire: { open: 'expired' },
  close: { open: 'closed' },
  complete: { open: 'completed', expired: 'completed', closed: 'completed' },
} as const satisfies Record<string, Partial<Record<CheckoutState, CheckoutState>>>;

type CheckoutAct = keyof typeof CHECKOUT_STEPS;

export interface Checkout {
  id: bigint;
  listingId: bigint;
  merchantId: bigint;
  marketBuyer: string;
  /** Handle of the merchant's resident in the city. */
  cityHandle: string;
  offerId: bigint;
  /** The stored state. An open checkout may already be past its time. */
  state: CheckoutState;
  createdAt: Date;
  expiresAt: Date;
}

interface CheckoutRow {
  id: bigint;
  listing_id: bigint;
  merchant_id: bigint;
  handle: string;
  city_handle: string;
  offer_id: bigint;
  state: CheckoutState;
  created_at: Date;
  expires_at: Date;
}

const selectCheckout = sql`select c.id, c.listing_id, c.merchant_id, m.handle, c.city_handle, c.offer_id, c.state, c.created_at, c.expires_at
  from world_checkouts c join merchants m on m.id = c.merchant_id`;

function checkoutOf(row: CheckoutRow | null): Checkout | null {
  return (
    row && {
      id: row.id,
      listingId: row.listing_id,
      merchantId: row.merchant_id,
      marketBuyer: row.handle,
      cityHandle: row.city_handle,
      offerId: row.offer_id,
      state: row.state,
      createdAt: row.created_at,
      expiresAt: row.expires_at,
    }
  );
}

export async function findCheckout(queryable: Queryable, id: bigint): Promise<Checkout | null> {
  return checkoutOf(await queryable.maybe<CheckoutRow>(sql`${selectCheckout} where c.id = ${id}`));
}

interface CheckoutKey {
  listingId: bigint;
  merchantId: bigint;
  cityHandle: string;
}

export async function findOpenCheckout(
  queryable: Queryable,
  { listingId, merchantId, cityHandle }: CheckoutKey,
  now: Date,
): Promise<Checkout | null> {
  return checkoutOf(
    await queryable.maybe<CheckoutRow>(
      sql`${selectCheckout} where c.listing_id = ${listingId} and c.merchant_id = ${merchantId} and c.city_handle = ${cityHandle}
        and c.state = 'open' and c.expires_at > ${now}`,
    ),
  );
}

/** Whether this merchant (or with null, anyone) ever opened a checkout for the listing. If so, a payment may exist. */
export async function hasCheckout(
  queryable: Queryable,
  listingId: bigint,
  merchantId: bigint | null = null,
): Promise<boolean> {
  const { exists } = await queryable.one<{ exists: boolean }>(
    sql`select exists (select from world_checkouts where listing_id = ${listingId}
      and (${merchantId}::bigint is null or merchant_id = ${merchantId}::bigint)) as exists`,
  );
  return exists;
}

/** Call under the checkout lock, so that ids follow commit order. First marks the buyer's expired checkout as such. */
export async function insertCheckout(
  tx: Tx,
  key: CheckoutKey & { offerId: bigint },
  time: { now: Date; expiresAt: Date },
): Promise<bigint> {
  const { listingId, merchantId, cityHandle, offerId } = key;
  await stepCheckout(
    tx,
    'expire',
    sql`listing_id = ${listingId} and merchant_id = ${merchantId} and city_handle = ${cityHandle} and expires_at <= ${time.now}`,
  );
  const { id } = await tx.one<{ id: bigint }>(
    sql`insert into world_checkouts (id, listing_id, merchant_id, city_handle, offer_id, created_at, expires_at)
      select next_id('world_checkouts', max(id)), ${listingId}, ${merchantId}, ${cityHandle}, ${offerId}, ${time.now}, ${time.expiresAt}
      from world_checkouts
      returning id`,
  );
  return id;
}

/** Completes the checkout from any state, because its reservation may outlast it. */
export async function completeCheckout(tx: Tx, id: bigint): Promise<void> {
  await stepCheckout(tx, 'complete', sql`id = ${id}`);
}

export async function closeCheckouts(tx: Tx, listingId: bigint): Promise<void> {
  await stepCheckout(tx, 'close', sql`listing_id = ${listingId}`);
}

/** Moves every selected checkout whose state allows this step. */
async function stepCheckout(tx: Tx, act: CheckoutAct, which: Sql): Promise<void> {
  for (const [from, to] of Object.entries(CHECKOUT_STEPS[act])) {
    await tx.run(sql`update world_checkouts set state = ${to} where ${which} and state = ${from}`);
  }
}

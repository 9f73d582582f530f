import sql, { type Sql } from 'sql-template-tag';
import type { CheckoutState } from '../../../contract/world-records.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { CHECKOUT_STEPS, type CheckoutAct } from './checkout-steps.ts';

export interface Checkout {
  id: bigint;
  listingId: bigint;
  merchantId: bigint;
  /** The merchant who buys. */
  marketBuyer: string;
  /** The resident who does so in the city. */
  cityHandle: string;
  offerId: bigint;
  /** As it was written: an open one may be over. */
  state: CheckoutState;
  createdAt: Date;
  expiresAt: Date;
}

interface Row {
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

const select = sql`select c.id, c.listing_id, c.merchant_id, m.handle, c.city_handle, c.offer_id, c.state, c.created_at, c.expires_at
  from world_checkouts c join merchants m on m.id = c.merchant_id`;

function checkoutOf(row: Row | null): Checkout | null {
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
  return checkoutOf(await queryable.maybe<Row>(sql`${select} where c.id = ${id}`));
}

export interface CheckoutPlace {
  listingId: bigint;
  merchantId: bigint;
  cityHandle: string;
}

/** The one that is open at that time; there is one at most. */
export async function findOpenCheckout(
  queryable: Queryable,
  { listingId, merchantId, cityHandle }: CheckoutPlace,
  now: Date,
): Promise<Checkout | null> {
  return checkoutOf(
    await queryable.maybe<Row>(
      sql`${select} where c.listing_id = ${listingId} and c.merchant_id = ${merchantId} and c.city_handle = ${cityHandle}
        and c.state = 'open' and c.expires_at > ${now}`,
    ),
  );
}

/** Whether anybody, or this merchant, ever opened one: from then on a payment may exist. */
export async function hasCheckout(
  queryable: Queryable,
  listingId: bigint,
  merchantId: bigint | null = null,
): Promise<boolean> {
  const { found } = await queryable.one<{ found: boolean }>(
    sql`select exists (select from world_checkouts where listing_id = ${listingId}
      and (${merchantId}::bigint is null or merchant_id = ${merchantId}::bigint)) as found`,
  );
  return found;
}

/** Call under the lock of checkouts: ids then follow the order of commits. What has run out in that place makes room first. */
export async function insertCheckout(
  tx: Tx,
  place: CheckoutPlace & { offerId: bigint },
  time: { now: Date; expiresAt: Date },
): Promise<bigint> {
  const { listingId, merchantId, cityHandle, offerId } = place;
  await step(
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

/** Whatever became of it before: the reservation that it opened may outlast it. */
export async function completeCheckout(tx: Tx, id: bigint): Promise<void> {
  await step(tx, 'complete', sql`id = ${id}`);
}

/** No buyer reserves by these any more. */
export async function closeCheckouts(tx: Tx, listingId: bigint): Promise<void> {
  await step(tx, 'close', sql`listing_id = ${listingId}`);
}

/** Does the act with those for which the table has it. */
async function step(tx: Tx, act: CheckoutAct, which: Sql): Promise<void> {
  for (const [from, to] of Object.entries(CHECKOUT_STEPS[act])) {
    await tx.run(sql`update world_checkouts set state = ${to} where ${which} and state = ${from}`);
  }
}

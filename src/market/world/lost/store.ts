import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import type { Checkout } from '../checkouts/store.ts';

/** Whether an id that the books lack may have been shown: a recovery has left it out. */
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

/** By whom, and when, the city says that it was reserved. */
export interface LostCheckout {
  marketBuyer: string;
  cityHandle: string;
  reservedAt: Date;
}

/**
 * The merchant of that handle, if it is linked with that resident here, was one by then, and a recovery is younger than the reservation;
 * else null. The city's word alone makes no merchant a buyer.
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

/** Under its own id, and completed: no resident can reserve by it any more. */
export async function putCheckout(tx: Tx, checkout: Checkout): Promise<void> {
  await tx.run(sql`
    insert into world_checkouts (id, listing_id, merchant_id, city_handle, offer_id, state, created_at, expires_at)
    values (${checkout.id}, ${checkout.listingId}, ${checkout.merchantId}, ${checkout.cityHandle}, ${checkout.offerId}, 'completed',
      ${checkout.createdAt}, ${checkout.expiresAt})`);
}

import sql from 'sql-template-tag';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { toBytes } from '../../../platform/hex.ts';
import { flagText } from '../../listings/flag-text.ts';
import type { ListedOffer, ThingToAdd } from './thing-to-add.ts';

export async function isOfferListed(
  queryable: Queryable,
  { city_origin: origin, offer_id: id }: Pick<ListedOffer, 'city_origin' | 'offer_id'>,
): Promise<boolean> {
  const row = await queryable.one<{ listed: boolean }>(
    sql`select exists (select from world_listings where city_origin = ${origin} and offer_id = ${id}) as listed`,
  );
  return row.listed;
}

/** Call under the lock `listings`: ids then follow the order of commits. */
export async function insertThing(
  tx: Tx,
  { draft, offer, bodyHash, feeId, at, chainId }: ThingToAdd & { at: Date; chainId: bigint },
): Promise<bigint> {
  const flags = flagText([draft.title, draft.description, draft.preview]);
  const { id } = await tx.one<{ id: bigint }>(
    sql`insert into listings (id, merchant_id, title, description, preview, price_units, seller_wallet, wallet_kind, chain_id, tags,
        aisle, created_at, body_hash, fee_id, text_flags)
      select next_id('listings', max(id)), ${draft.merchantId}, ${draft.title}, ${draft.description}, ${draft.preview},
        ${draft.priceUnits}, ${toBytes(draft.sellerWallet)}, 'world', ${chainId}, ${draft.tags}::text[], 'world', ${at}, ${bodyHash}, ${feeId},
        ${flags}::text[]
      from listings returning id`,
  );
  await tx.run(
    sql`insert into world_listings (listing_id, draft_id, city_origin, offer_id, thing_id, seller_handle, offer_url, thing_url, phase,
        looked_at)
      values (${id}, ${draft.id}, ${offer.city_origin}, ${offer.offer_id}, ${draft.thingId}, ${offer.seller_handle},
        ${offer.offer_url}, ${offer.thing_url}, 'listed', ${at})`,
  );
  return id;
}

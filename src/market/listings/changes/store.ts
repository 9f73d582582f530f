import sql from 'sql-template-tag';
import type { FieldValues } from '../../../contract/listing-fields.ts';
import type { ListingState } from '../../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { toHex } from '../../../platform/hex.ts';
import { fieldColumns, fieldsOf, setFields } from '../../catalog/store.ts';
import type { StoredGoods } from '../../goods/object-store.ts';
import { flagListing } from '../flag-text.ts';
import { type GoodsContent, sizeOf } from '../goods-content.ts';
import type { Goods } from '../read-goods.ts';
import { placeOf } from '../store.ts';

export type ListedGoods = Omit<Goods, 'content'>;

export interface ChangingListing {
  id: bigint;
  merchantId: bigint;
  state: ListingState;
  pinned: boolean;
  withdrawnAt: Date | null;
  /** Null for a thing, because its city holds it. */
  goods: ListedGoods | null;
}

interface Row extends FieldValues {
  id: bigint;
  merchant_id: bigint;
  price_units: bigint;
  seller_wallet: Buffer;
  state: ListingState;
  pinned: boolean;
  withdrawn_at: Date | null;
}

const columns = sql`id, merchant_id, price_units, seller_wallet, state, pinned, withdrawn_at, ${fieldColumns}`;

function changingOf(row: Row | null): ChangingListing | null {
  return (
    row && {
      id: row.id,
      merchantId: row.merchant_id,
      state: row.state,
      pinned: row.pinned,
      withdrawnAt: row.withdrawn_at,
      goods: goodsOf(row),
    }
  );
}

function goodsOf(row: Row): ListedGoods | null {
  const { aisle, artifact_media_type } = row;
  if (aisle === null || artifact_media_type === null) return null;
  const [priceUnits, sellerWallet] = [row.price_units, toHex(row.seller_wallet)];
  return { ...fieldsOf(row), aisle, artifact_media_type, priceUnits, sellerWallet };
}

export async function findChanging(queryable: Queryable, id: bigint): Promise<ChangingListing | null> {
  return changingOf(await queryable.maybe<Row>(sql`select ${columns} from listings where id = ${id}`));
}

/**
 * Locks the listing until the transaction ends, so that nobody buys, votes on or changes it meanwhile. Query other tables about it
 * afterwards in separate statements, because this statement does not see the changes that it waited for.
 */
export async function lockListing(tx: Tx, id: bigint): Promise<ChangingListing | null> {
  return changingOf(await tx.maybe<Row>(sql`select ${columns} from listings where id = ${id} for update`));
}

export interface EditConditions {
  /** The hidden goods, to compare the edit with; null if they were erased. They leave the market only through deliver.ts and the merchant's own history. */
  content: Buffer | StoredGoods | null;
  purchased: boolean;
  /** Whether money may be on its way. Attempts not submitted yet do not count, because the edit stops them; nor do payments in review. */
  pending: boolean;
}

export async function readEditConditions(queryable: Queryable, id: bigint): Promise<EditConditions> {
  // The second condition on the status follows from the first, but the index needs it.
  const { content, purchased, pending, ...object } = await queryable.one<ConditionsRow>(
    sql`select a.content, o.id as object_id, o.bytes, o.sha256, o.salt, o.commitment, exists (select from purchases where listing_id = ${id}) as purchased, exists (
        select from payments where purpose = 'purchase' and listing_id = ${id} and status = 'settling'
          and status not in ('unpaid', 'rejected')
      ) as pending
      from artifacts a left join goods_objects o on o.id = a.object_id where a.listing_id = ${id}`,
  );
  return { content: content ?? storedOf(object), purchased, pending };
}

type ObjectRow = Omit<StoredGoods, 'objectId' | 'bytes'> & { object_id: bigint | null; bytes: bigint };
type ConditionsRow = Omit<EditConditions, 'content'> & { content: Buffer | null } & ObjectRow;

function storedOf({ object_id, bytes, sha256, salt, commitment }: ObjectRow): StoredGoods | null {
  return object_id === null ? null : { objectId: object_id, bytes: Number(bytes), sha256, salt, commitment };
}

export function updateTexts(tx: Tx, id: bigint, goods: ListedGoods): void {
  const flags = flagListing(goods);
  tx.later(sql`update listings set text_flags = ${flags}, ${setFields(goods)} where id = ${id}`);
}

export function replaceArtifact(
  tx: Tx,
  id: bigint,
  artifact: { salt: Buffer; content: GoodsContent; commitment: Buffer },
): void {
  const { salt, commitment } = artifact;
  const { content, objectId } = placeOf(artifact.content);
  tx.later(
    sql`update artifacts set salt = ${salt}, content = ${content}, object_id = ${objectId} where listing_id = ${id}`,
  );
  tx.later(
    sql`update listings set artifact_commitment = ${commitment}, artifact_bytes = ${sizeOf(artifact.content)} where id = ${id}`,
  );
}

export function markWithdrawn(tx: Tx, id: bigint, reason: string | null, now: Date): void {
  tx.later(
    sql`update listings set state = 'withdrawn', withdrawn_at = ${now}, withdrawn_reason = ${reason} where id = ${id}`,
  );
}

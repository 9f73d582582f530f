import sql from 'sql-template-tag';
import type { FieldValues } from '../../../contract/listing-fields.ts';
import type { ListingState } from '../../../contract/vocabulary.ts';
import type { Queryable, Tx } from '../../../platform/database/database.ts';
import { toHex } from '../../../platform/hex.ts';
import { fieldColumns, fieldsOf, setFields } from '../../catalog/store.ts';
import { flagListing } from '../flag-text.ts';
import type { Goods } from '../read-goods.ts';

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
  /** The hidden goods, to compare the edit with. They leave the market only through deliver.ts and the merchant's own history. */
  content: Buffer;
  purchased: boolean;
  /** Whether money may be on its way. Attempts not submitted yet do not count, because the edit stops them; nor do payments in review. */
  pending: boolean;
}

export async function readEditConditions(queryable: Queryable, id: bigint): Promise<EditConditions> {
  // The second condition on the status follows from the first, but the index needs it.
  return await queryable.one<EditConditions>(
    sql`select content, exists (select from purchases where listing_id = ${id}) as purchased, exists (
        select from payments where purpose = 'purchase' and listing_id = ${id} and status = 'settling'
          and status not in ('unpaid', 'rejected')
      ) as pending
      from artifacts where listing_id = ${id}`,
  );
}

export function updateTexts(tx: Tx, id: bigint, goods: ListedGoods): void {
  const flags = flagListing(goods);
  tx.later(sql`update listings set text_flags = ${flags}, ${setFields(goods)} where id = ${id}`);
}

export function replaceArtifact(
  tx: Tx,
  id: bigint,
  artifact: { salt: Buffer; content: Buffer; commitment: Buffer },
): void {
  const { salt, content, commitment } = artifact;
  tx.later(sql`update artifacts set salt = ${salt}, content = ${content} where listing_id = ${id}`);
  tx.later(
    sql`update listings set artifact_commitment = ${commitment}, artifact_bytes = ${content.length} where id = ${id}`,
  );
}

export function markWithdrawn(tx: Tx, id: bigint, reason: string | null, now: Date): void {
  tx.later(
    sql`update listings set state = 'withdrawn', withdrawn_at = ${now}, withdrawn_reason = ${reason} where id = ${id}`,
  );
}

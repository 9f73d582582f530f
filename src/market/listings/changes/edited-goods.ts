import type { ListingEdit } from '../../../contract/listing-changes.ts';
import {
  COMPARED_FIELDS,
  FIELD_NAMES,
  type FieldName,
  type FieldValues,
  LISTING_FIELDS,
} from '../../../contract/listing-fields.ts';
import type { NewListing } from '../../../contract/listings.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { type Goods, readGoods } from '../read-goods.ts';
import type { ListedGoods } from './store.ts';

const NEVER = ['price_usdc', 'seller_wallet'] as const;
/** As refusals and events name them: the goods before what says how they are written. */
const NAMES = [...COMPARED_FIELDS, 'artifact', ...FIELD_NAMES.filter((name) => name.startsWith('artifact_'))] as const;
const FREE_ONLY = NAMES.filter((name) => name === 'artifact' || LISTING_FIELDS[name].changes === 'free_goods');

/** Each field of the edit that a listing of these goods never changes. */
export function fixedFields(given: ListingEdit, goods: ListedGoods): string[] {
  const fixed = goods.priceUnits === 0n ? NEVER : [...NEVER, ...FREE_ONLY];
  return fixed.filter((field) => given[field] !== undefined);
}

/** Whether the duplicate guard has to look at it. */
export function touchesGuard(given: ListingEdit): boolean {
  return given.title !== undefined || namesArtifact(given);
}

export function namesArtifact(given: ListingEdit): boolean {
  return given.artifact !== undefined;
}

/**
 * The goods as they will be, under every rule for new ones. A file name and a media type outlive new goods, unless those are of
 * another encoding.
 */
export function editedGoods(before: Goods, given: ListingEdit, limits: { artifact_bytes: number }): Goods {
  if (given.artifact === undefined && given.artifact_encoding !== undefined) {
    // By itself it would make other bytes of what is stored.
    const message = 'goes with an artifact only';
    throw new Refusal('invalid_fields', { errors: [{ path: 'artifact_encoding', message }] });
  }
  const isKept = given.artifact === undefined;
  const encoding = isKept ? before.artifact_encoding : (given.artifact_encoding ?? 'utf-8');
  const mediaType = encoding === before.artifact_encoding ? before.artifact_media_type : undefined;
  const fields = Object.fromEntries(
    FIELD_NAMES.map((name) => [name, (given[name] === undefined ? before[name] : given[name]) ?? undefined]),
  );
  return readGoods(
    {
      ...(fields as Omit<NewListing, 'artifact' | 'price_usdc' | 'seller_wallet'>),
      artifact: given.artifact ?? before.content.toString(encoding === 'base64' ? 'base64' : 'utf8'),
      artifact_encoding: encoding,
      artifact_media_type: given.artifact_media_type ?? mediaType,
      price_usdc: before.priceUnits,
      seller_wallet: before.sellerWallet,
    },
    // A ceiling that was lowered since takes nothing away from goods that stay.
    isKept ? { artifact_bytes: Number.MAX_SAFE_INTEGER } : limits,
  );
}

/** The names, as on the wire, of what differs. */
export function changedFields(before: Goods, after: Goods): string[] {
  return NAMES.filter((name) =>
    name === 'artifact' ? !before.content.equals(after.content) : isOther(before[name], after[name]),
  );
}

function isOther(one: FieldValues[FieldName], other: FieldValues[FieldName]): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}

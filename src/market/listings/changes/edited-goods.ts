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
import { type GoodsContent, isSameContent } from '../goods-content.ts';
import type { ListableUpload, NamedUpload } from '../named-upload.ts';
import { type Goods, inlineLimits, mustNameGoodsOnce, readGoods } from '../read-goods.ts';
import type { ListedGoods } from './store.ts';

const NEVER_EDITABLE = ['price_usdc', 'seller_wallet'] as const;
/** Field names in the order of refusals and events. The goods come before their encoding, type and file name. */
const FIELDS = [...COMPARED_FIELDS, 'artifact', ...FIELD_NAMES.filter((name) => name.startsWith('artifact_'))] as const;
const FREE_EDITABLE = [
  ...FIELDS.filter((name) => name === 'artifact' || LISTING_FIELDS[name].changes === 'free_goods'),
  'artifact_upload' as const,
];

/** Returns the edit's fields that can never change in a listing of these goods. */
export function fixedFields(edit: ListingEdit, goods: ListedGoods): string[] {
  const fixed = goods.priceUnits === 0n ? NEVER_EDITABLE : [...NEVER_EDITABLE, ...FREE_EDITABLE];
  return fixed.filter((field) => edit[field] !== undefined);
}

export function namesArtifact(edit: ListingEdit): boolean {
  return edit.artifact !== undefined || edit.artifact_upload !== undefined;
}

export function touchesGuard(edit: ListingEdit): boolean {
  return edit.title !== undefined || namesArtifact(edit);
}

interface EditRules {
  limits: { artifact_bytes: number };
  /** The upload that the edit names. */
  named: NamedUpload | null;
}

/**
 * Builds the edited goods, which must obey every rule for new ones. Fields that the edit does not name stay, except that new goods without
 * an encoding are UTF-8, an upload brings its own type and file name, and a new encoding drops the media type.
 */
export function editedGoods(before: Goods, edit: ListingEdit, { limits, named }: EditRules): Goods {
  mustNameGoodsOnce(edit);
  if (edit.artifact === undefined && edit.artifact_encoding !== undefined) {
    // Without an artifact, a new encoding would change the bytes of the stored goods.
    const message = 'goes with an artifact only';
    throw new Refusal('invalid_fields', { errors: [{ path: 'artifact_encoding', message }] });
  }
  const upload = edit.artifact === undefined ? uploadAfter(before, named) : null;
  const encoding = encodingAfter(before, edit, upload !== null);
  const keptType = encoding === before.artifact_encoding ? before.artifact_media_type : undefined;
  const fields = Object.fromEntries(
    FIELD_NAMES.map((name) => [name, (edit[name] === undefined ? before[name] : edit[name]) ?? undefined]),
  );
  return readGoods(
    {
      ...(fields as Omit<NewListing, 'artifact' | 'price_usdc' | 'seller_wallet'>),
      artifact: edit.artifact ?? stringOf(before.content, encoding),
      artifact_encoding: encoding,
      artifact_media_type: edit.artifact_media_type ?? upload?.mediaType ?? keptType,
      artifact_filename: edit.artifact_filename ?? upload?.filename ?? before.artifact_filename ?? undefined,
      price_usdc: before.priceUnits,
      seller_wallet: before.sellerWallet,
    },
    // Goods that stay are exempt from a size limit that was lowered since.
    edit.artifact === undefined ? { artifact_bytes: Number.MAX_SAFE_INTEGER } : inlineLimits(limits),
    upload,
  );
}

/** Returns the upload whose bytes are the goods after the edit, or null if they are a string. */
function uploadAfter({ content }: Goods, named: NamedUpload | null): ListableUpload | null {
  const kept = Buffer.isBuffer(content) ? null : { goods: content, filename: null, mediaType: null };
  if (named === null || named.found instanceof Refusal) return kept;
  return kept !== null && isSameContent(named.found.goods, kept.goods)
    ? { ...named.found, goods: kept.goods }
    : named.found;
}

/** Refuses an edit whose upload cannot be listed, unless the listing has those bytes already, perhaps by this very edit. */
export function mustHaveUpload({ content }: Goods, named: NamedUpload | null): void {
  if (named === null || !(named.found instanceof Refusal)) return;
  const isListed = !Buffer.isBuffer(content) && named.sha256?.equals(content.sha256) === true;
  if (!isListed) throw named.found;
}

function encodingAfter(before: Goods, edit: ListingEdit, isUpload: boolean): 'utf-8' | 'base64' {
  if (isUpload) return 'base64';
  return edit.artifact === undefined ? before.artifact_encoding : (edit.artifact_encoding ?? 'utf-8');
}

function stringOf(content: GoodsContent, encoding: 'utf-8' | 'base64'): string | undefined {
  return Buffer.isBuffer(content) ? content.toString(encoding === 'base64' ? 'base64' : 'utf8') : undefined;
}

export function changedFields(before: Goods, after: Goods): string[] {
  return FIELDS.filter((name) =>
    name === 'artifact' ? !isSameContent(before.content, after.content) : differs(before[name], after[name]),
  );
}

function differs(one: FieldValues[FieldName], other: FieldValues[FieldName]): boolean {
  return JSON.stringify(one) !== JSON.stringify(other);
}

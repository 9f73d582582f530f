import type { ListingEdit } from '../../../contract/listing-changes.ts';
import { Refusal } from '../../../platform/refusal.ts';
import { type Goods, readGoods } from '../read-goods.ts';
import type { ListedGoods } from './store.ts';

const NEVER = ['price_usdc', 'seller_wallet'] as const;
/** What a buyer was asked money for stays what it is; only free goods may change. */
const FREE_ONLY = [
  'title',
  'artifact',
  'artifact_encoding',
  'artifact_media_type',
  'artifact_filename',
] as const satisfies readonly (keyof ListingEdit)[];

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
  const encoding = isKept ? before.encoding : (given.artifact_encoding ?? 'utf-8');
  return readGoods(
    {
      title: given.title ?? before.title,
      description: given.description ?? before.description,
      preview: given.preview ?? before.preview,
      artifact: given.artifact ?? before.content.toString(encoding === 'base64' ? 'base64' : 'utf8'),
      artifact_encoding: encoding,
      artifact_media_type: given.artifact_media_type ?? (encoding === before.encoding ? before.mediaType : undefined),
      artifact_filename: given.artifact_filename ?? before.filename ?? undefined,
      price_usdc: before.priceUnits,
      seller_wallet: before.sellerWallet,
      tags: given.tags ?? before.tags,
      aisle: given.aisle ?? before.aisle,
    },
    // A ceiling that was lowered since takes nothing away from goods that stay.
    isKept ? { artifact_bytes: Number.MAX_SAFE_INTEGER } : limits,
  );
}

const WIRE_NAMES = {
  title: 'title',
  description: 'description',
  preview: 'preview',
  tags: 'tags',
  aisle: 'aisle',
  content: 'artifact',
  encoding: 'artifact_encoding',
  mediaType: 'artifact_media_type',
  filename: 'artifact_filename',
} as const satisfies Partial<Record<keyof Goods, keyof ListingEdit>>;

/** The names, as on the wire, of what differs. */
export function changedFields(before: Goods, after: Goods): string[] {
  const keys = Object.keys(WIRE_NAMES) as (keyof typeof WIRE_NAMES)[];
  return keys.filter((key) => !isSame(before[key], after[key])).map((key) => WIRE_NAMES[key]);
}

function isSame(one: string | string[] | Buffer | null, other: string | string[] | Buffer | null): boolean {
  if (Buffer.isBuffer(one) && Buffer.isBuffer(other)) return one.equals(other);
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other;
  return one.length === other.length && one.every((item, at) => item === other[at]);
}

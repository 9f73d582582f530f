import { sha256 } from '../../src/platform/canonical-json.ts';
import { copyLine } from './copy-rows.ts';
import type { Goods } from './goods.ts';

export const LISTING_COLUMNS = [
  'id',
  'merchant_id',
  'title',
  'description',
  'preview',
  'price_units',
  'seller_wallet',
  'wallet_kind',
  'tags',
  'aisle',
  'state',
  'created_at',
  'removed_at',
  'removed_reason',
  'removed_reason_code',
  'withdrawn_at',
  'withdrawn_reason',
  'artifact_commitment',
  'artifact_bytes',
  'artifact_encoding',
  'artifact_media_type',
  'body_hash',
] as const;

export const COUNT_COLUMNS = ['id', 'votes', 'sales'] as const;

const START = Date.UTC(2026, 0, 5, 12);
/** The listings span one year, however many there are. */
const AGE_MS = 365 * 86_400_000;
const NULL = '\\N';

export function walletOf(seller: number): Buffer {
  return sha256(`bench seller ${seller}`).subarray(0, 20);
}

/** Returns the wallet for a seller's things. A wallet sells goods or things, never both. */
export function thingWalletOf(seller: number): Buffer {
  return sha256(`bench seller of things ${seller}`).subarray(0, 20);
}

/** Must make the same bytes as the SQL in seed-around.ts. */
function goodsOf(id: number): { salt: Buffer; content: string } {
  return { salt: sha256(`salt ${id}`), content: `goods of listing ${id}` };
}

export function listingLine(goods: Goods, { listings }: { listings: number }): string {
  const { salt, content } = goodsOf(goods.id);
  const created = new Date(START + Math.floor((goods.id / listings) * AGE_MS)).toISOString();
  const ended = new Date(START + AGE_MS).toISOString();
  const isThing = goods.aisle === 'world';
  const common = copyLine([
    goods.id,
    goods.seller,
    goods.title,
    goods.description,
    goods.preview,
    goods.priceUnits,
    isThing ? thingWalletOf(goods.seller) : walletOf(goods.seller),
    isThing ? 'world' : 'ordinary',
    goods.tags,
    goods.aisle,
    goods.state,
    created,
  ]);
  const removed = goods.state === 'removed' ? [ended, 'against the rules', 'policy'] : [NULL, NULL, NULL];
  const withdrawn = goods.state === 'withdrawn' ? [ended, 'no longer sold'] : [NULL, NULL];
  const artifact = isThing
    ? [NULL, NULL, NULL, NULL]
    : [copyLine([sha256(salt, Buffer.from(content)), content.length, 'utf-8', 'text/plain; charset=utf-8'])];
  return [common, ...removed, ...withdrawn, ...artifact, copyLine([sha256(`body ${goods.id}`)])].join('\t');
}

export function countLine({ id, votes, sales }: Goods): string {
  return copyLine([id, votes, sales]);
}

import { isUtf8 } from 'node:buffer';
import parseExpression from 'spdx-expression-parse';
import { type FieldValues, LICENSE_EXAMPLES } from '../../contract/listing-fields.ts';
import type { NewListing } from '../../contract/listings.ts';
import { limitCombiningMarks } from '../../contract/text.ts';
import { AISLES, type Aisle, INLINE_ARTIFACT_BYTES, REPEAT_WINDOW_DAYS } from '../../contract/vocabulary.ts';
import { canonicalJson, sha256 } from '../../platform/canonical-json.ts';
import { toHex } from '../../platform/hex.ts';
import { Refusal } from '../../platform/refusal.ts';
import { fieldsOf } from '../catalog/store.ts';
import { comparedBytes, type GoodsContent } from './goods-content.ts';
import type { ListableUpload } from './named-upload.ts';

/** A new listing that has passed every check that needs no database and no chain. */
export interface Goods extends ListedFields {
  priceUnits: bigint;
  sellerWallet: `0x${string}`;
  content: GoodsContent;
}

/** Fields that a request may omit because they have a default. */
interface ListedFields extends FieldValues {
  aisle: Aisle;
  artifact_media_type: string;
}

/** `upload` is the one that the body names. The encoding of uploaded goods says nothing, and is stored as base64. */
export function readGoods(
  body: NewListing,
  limits: { artifact_bytes: number },
  upload: ListableUpload | null = null,
): Goods {
  const content = upload?.goods ?? contentWithin(body, limits.artifact_bytes);
  const encoding = upload === null ? body.artifact_encoding : 'base64';
  const filename = body.artifact_filename ?? upload?.filename ?? undefined;
  return {
    ...fieldsOf({ ...body, artifact_filename: filename, artifact_encoding: encoding }),
    aisle: aisleOf(body),
    license: licenseOf(body),
    artifact_media_type: body.artifact_media_type ?? upload?.mediaType ?? DEFAULT_MEDIA_TYPES[encoding],
    priceUnits: body.price_usdc,
    sellerWallet: body.seller_wallet,
    content,
  };
}

const DEFAULT_MEDIA_TYPES = { 'utf-8': 'text/plain; charset=utf-8', base64: 'application/octet-stream' } as const;

function invalidField(path: string, message: string): Refusal {
  return new Refusal('invalid_fields', { detail: `${path} ${message}.`, errors: [{ path, message }] });
}

interface NamedGoods {
  artifact?: unknown;
  artifact_upload?: unknown;
  artifact_encoding?: unknown;
}

/** Refuses goods that are named twice. Call it with fields as they were sent, because the schema adds a default encoding. */
export function mustNameGoodsOnce({
  artifact,
  artifact_upload: upload,
  artifact_encoding: encoding,
}: NamedGoods): void {
  if (upload === undefined) return;
  if (artifact !== undefined) throw invalidField('artifact_upload', 'goes in place of artifact, and not with it');
  if (encoding !== undefined) throw invalidField('artifact_encoding', 'goes with artifact only');
}

/** Limits goods that come as a string. Larger ones are uploaded. */
export function inlineLimits({ artifact_bytes: most }: { artifact_bytes: number }): { artifact_bytes: number } {
  return { artifact_bytes: Math.min(INLINE_ARTIFACT_BYTES, most) };
}

function contentWithin(body: NewListing, most: number): Buffer {
  const content = contentOf(body);
  if (content.length > 0 && content.length <= most) return content;
  const hint = content.length > most && most === INLINE_ARTIFACT_BYTES ? `; ${UPLOAD_LARGER}` : '';
  throw invalidField('artifact', `must have 1 to ${most} bytes, has ${content.length}${hint}`);
}

const UPLOAD_LARGER = 'larger goods are uploaded, and named by artifact_upload';

/** Goods are stored byte for byte, so their encoding must be unambiguous. */
function contentOf(body: NewListing): Buffer {
  if (body.artifact === undefined) throw invalidField('artifact', 'or artifact_upload must be given');
  if (body.artifact_encoding === 'base64') {
    const bytes = Buffer.from(body.artifact, 'base64');
    if (bytes.toString('base64') !== body.artifact)
      throw invalidField('artifact', 'must be canonical base64 with padding');
    return bytes;
  }
  if (!body.artifact.isWellFormed()) throw invalidField('artifact', 'must be text that UTF-8 can hold');
  return Buffer.from(body.artifact, 'utf8');
}

/** Returns the named aisle, otherwise the first tag that names one, otherwise `other`. Things of the world are listed by drafts. */
function aisleOf(body: NewListing): Aisle {
  if (body.aisle === 'world') throw new Refusal('world_needs_draft');
  if (body.aisle !== undefined) return body.aisle;
  const tagged = body.tags.find((tag): tag is Aisle => tag !== 'world' && AISLES.some((aisle) => aisle === tag));
  return tagged ?? 'other';
}

/** Checks that the text is an SPDX expression of listed licenses. The contract's schema does not check this. */
function licenseOf({ license }: NewListing): string | null {
  if (license === undefined || license === 'other') return license ?? null;
  try {
    parseExpression(license);
    return license;
  } catch {
    throw invalidField('license', LICENSE_EXAMPLES);
  }
}

/** Shorter goods may be equal by chance, and a guard across merchants would help to guess them. */
const SHARED_GUARD_CHARACTERS = 200;

/** Identifies equal goods by the folded title and the exact artifact. */
export function guardKeyOf(goods: Goods, merchantId: bigint): Buffer {
  const title = limitCombiningMarks(goods.title).normalize('NFKC').toLowerCase().replace(/\s+/gu, ' ').trim();
  const bytes = comparedBytes(goods.content);
  if (bytes === null) return sha256(JSON.stringify(['exact-large', '', title]), sha256Of(goods.content));
  const owner = hasSharedLength(goods, bytes) ? '' : merchantId.toString();
  return sha256(JSON.stringify(['exact', owner, title]), bytes);
}

function sha256Of(content: GoodsContent): Buffer {
  return Buffer.isBuffer(content) ? sha256(content) : content.sha256;
}

/**
 * Counts characters only if the goods are short, because a character has at most four bytes. Uploaded text counts as the same text in a
 * string would.
 */
function hasSharedLength({ artifact_encoding: encoding, content }: Goods, bytes: Buffer): boolean {
  const isText = Buffer.isBuffer(content) ? encoding === 'utf-8' : isUtf8(bytes);
  if (!isText || bytes.length >= 4 * SHARED_GUARD_CHARACTERS) return bytes.length >= SHARED_GUARD_CHARACTERS;
  return [...bytes.toString('utf8')].length >= SHARED_GUARD_CHARACTERS;
}

/** Identifies a request. A body that names an upload is identified by the bytes, so that it stays the same after another upload of them. */
export function bodyHashOf(rawBody: unknown, uploadHash: Buffer | null = null): Buffer {
  if (uploadHash === null) return sha256(canonicalJson(rawBody));
  return sha256(canonicalJson({ ...(rawBody as object), artifact_upload: toHex(uploadHash) }));
}

export interface Version {
  supersedes: bigint;
  /** Whether buyers of the superseded version or an older one get this version free. */
  entitles: boolean;
}

export function readVersion({ supersedes, entitles_previous_buyers: entitles }: NewListing): Version | null {
  if (supersedes !== undefined) return { supersedes, entitles: entitles ?? false };
  if (entitles === undefined) return null;
  const path = 'entitles_previous_buyers';
  const message = 'goes with supersedes only';
  throw new Refusal('invalid_fields', { detail: `${path} ${message}.`, errors: [{ path, message }] });
}

/** How long the same request gets the same listing, and listed goods block equal ones. */
export const REPEAT_WINDOW_MS = REPEAT_WINDOW_DAYS * 86_400_000;

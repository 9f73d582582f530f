import parseExpression from 'spdx-expression-parse';
import { type FieldValues, LICENSE_EXAMPLES } from '../../contract/listing-fields.ts';
import type { NewListing } from '../../contract/listings.ts';
import { limitCombiningMarks } from '../../contract/text.ts';
import { AISLES, type Aisle, REPEAT_WINDOW_DAYS } from '../../contract/vocabulary.ts';
import { canonicalJson, sha256 } from '../../platform/canonical-json.ts';
import { Refusal } from '../../platform/refusal.ts';
import { fieldsOf } from '../catalog/store.ts';

/** A new listing that has passed every check that needs no database and no chain. */
export interface Goods extends ListedFields {
  priceUnits: bigint;
  sellerWallet: `0x${string}`;
  content: Buffer;
}

/** Fields that a request may omit because they have a default. */
interface ListedFields extends FieldValues {
  aisle: Aisle;
  artifact_media_type: string;
}

export function readGoods(body: NewListing, limits: { artifact_bytes: number }): Goods {
  const content = contentOf(body);
  if (content.length === 0 || content.length > limits.artifact_bytes) {
    throw invalidField('artifact', `must have 1 to ${limits.artifact_bytes} bytes, has ${content.length}`);
  }
  return {
    ...fieldsOf(body),
    aisle: aisleOf(body),
    license: licenseOf(body),
    artifact_media_type: body.artifact_media_type ?? DEFAULT_MEDIA_TYPES[body.artifact_encoding],
    priceUnits: body.price_usdc,
    sellerWallet: body.seller_wallet,
    content,
  };
}

const DEFAULT_MEDIA_TYPES = { 'utf-8': 'text/plain; charset=utf-8', base64: 'application/octet-stream' } as const;

function invalidField(path: string, message: string): Refusal {
  return new Refusal('invalid_fields', { detail: `${path} ${message}.`, errors: [{ path, message }] });
}

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
  const owner = hasSharedLength(goods) ? '' : merchantId.toString();
  return sha256(JSON.stringify(['exact', owner, title]), goods.content);
}

/** Counts characters only if the goods are short, because a character has at most four bytes. */
function hasSharedLength({ artifact_encoding: encoding, content }: Goods): boolean {
  if (encoding === 'base64' || content.length >= 4 * SHARED_GUARD_CHARACTERS) {
    return content.length >= SHARED_GUARD_CHARACTERS;
  }
  return [...content.toString('utf8')].length >= SHARED_GUARD_CHARACTERS;
}

export function bodyHashOf(rawBody: unknown): Buffer {
  return sha256(canonicalJson(rawBody));
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

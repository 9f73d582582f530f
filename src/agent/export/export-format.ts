import { z } from 'zod';
import { ATTRIBUTE_NAMES, type Attributes } from '../../contract/listing-fields.ts';
import { created } from '../../contract/listings.ts';
import { saleOut } from '../../contract/merchants.ts';
import { AISLES, LISTING_STATES } from '../../contract/vocabulary.ts';
import { spendRecord } from '../spend-record.ts';

/** Rises when a program that reads the present one would misread the next. Fields may be added without. */
export const EXPORT_VERSION = 1;

const version = z.literal(EXPORT_VERSION);
const hash = z.string().regex(/^0x[0-9a-f]{64}$/);

/** Names inside an export. A program that reads one opens no other file: no path leads out, and none is hidden. */
export const FILE_NAME = /^(?:sales\.json|(?:listings|purchases|goods)\/[A-Za-z0-9][A-Za-z0-9._-]{0,150})$/;
const fileName = z.string().regex(FILE_NAME);

const common = {
  version,
  begun_at: z.string(),
  /** Null: it was begun and is not whole; the same command goes on with it. */
  completed_at: z.string().nullable(),
  /** SHA-256 of every file of a whole export. By itself it tells of accidents; who may change files may change this too. */
  files: z.record(fileName, hash),
};

export const storeManifest = z.object({
  kind: z.literal('store'),
  ...common,
  // Both are told to a person: they have no room for words.
  market: z.string().regex(/^https?:\/\/\S{1,300}$/),
  merchant_id: z.int(),
  handle: z.string().regex(/^[a-z0-9-]{1,64}$/),
});
export type StoreManifest = z.output<typeof storeManifest>;

export const purchasesManifest = z.object({
  kind: z.literal('purchases'),
  ...common,
  wallet: z.string().regex(/^0x[0-9a-f]{40}$/),
  /** The wallet's own, over all the rest: see `exportToSign`. Null: the export is not whole, or an earlier version wrote it. */
  signature: z
    .string()
    .regex(/^0x[0-9a-f]{130}$/)
    .nullable()
    .default(null),
});
export type PurchasesManifest = z.output<typeof purchasesManifest>;

/** `export.json`. */
export const manifest = z.discriminatedUnion('kind', [storeManifest, purchasesManifest]);
export type Manifest = z.output<typeof manifest>;

const attributes = Object.fromEntries(
  ATTRIBUTE_NAMES.map((name) => [name, z.string().nullable().default(null)]),
) as Record<keyof Attributes, z.ZodDefault<z.ZodNullable<z.ZodString>>>;

/** `listings/<id>.json`. Of `listing` only what listing it once more needs is read; the rest is what the market said. */
export const listingFile = z.object({
  version,
  listing: z.looseObject({
    id: z.int().positive(),
    title: z.string(),
    description: z.string(),
    preview: z.string(),
    tags: z.array(z.string()),
    aisle: z.enum(AISLES),
    price_usdc: z.number(),
    seller_wallet: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
    state: z.enum(LISTING_STATES),
    supersedes: z.int().nullable(),
    artifact_commitment: hash.nullable(),
    created_at: z.string(),
    ...attributes,
  }),
  /** Null for a thing of a city, which is in the city. */
  goods: z
    .object({
      file: fileName,
      bytes: z.int(),
      encoding: z.enum(['utf-8', 'base64']),
      media_type: z.string().nullable(),
      filename: z.string().nullable(),
      salt: hash,
    })
    .nullable(),
  fee: created.shape.fee,
  /** By which the market takes a fee back that it lost. */
  recovery_slip: z.string().nullable(),
});
export type ListingFile = z.output<typeof listingFile>;

/** `sales.json`: newest first. A sale with its transaction is the seller's receipt. */
export const salesFile = z.object({ version, sales: z.array(saleOut) });

/** `purchases/<day>-<digest>-<sequence>.json`: a record of the book. While a payment is under way it holds its signed proof. */
export const purchaseFile = z.object({
  version,
  record: spendRecord,
  /** The file in `goods`; null where the book has none, or they were gone or changed. */
  goods: fileName.nullable(),
});
export type PurchaseFile = z.output<typeof purchaseFile>;

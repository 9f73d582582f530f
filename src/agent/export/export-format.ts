import { z } from 'zod';
import { ATTRIBUTE_NAMES, type Attributes } from '../../contract/listing-fields.ts';
import { created } from '../../contract/listings.ts';
import { AISLES, LISTING_STATES } from '../../contract/vocabulary.ts';
import { spendRecord } from '../spend-record.ts';

/** Raised when older programs would misread the format. New fields don't raise it. */
export const EXPORT_VERSION = 1;

const version = z.literal(EXPORT_VERSION);
const hash = z.string().regex(/^0x[0-9a-f]{64}$/);

/** Allowed file names, besides the manifest. Readers open no others, so that no path leads outside or to a hidden file. */
export const FILE_NAME = /^(?:sales\.json|(?:listings|purchases|goods)\/[A-Za-z0-9][A-Za-z0-9._-]{0,150})$/;
const fileName = z.string().regex(FILE_NAME);

const common = {
  version,
  begun_at: z.string(),
  /** Null while the export is incomplete. The same command completes it. */
  completed_at: z.string().nullable(),
  /** SHA-256 of every file. Detects accidents only, because whoever can change the files can change these too. */
  files: z.record(fileName, hash),
};

export const storeManifest = z.object({
  kind: z.literal('store'),
  ...common,
  // Market and handle are shown to people, so their form leaves no room for sentences.
  market: z.string().regex(/^https?:\/\/\S{1,300}$/),
  merchant_id: z.int(),
  handle: z.string().regex(/^[a-z0-9-]{1,64}$/),
});
export type StoreManifest = z.output<typeof storeManifest>;

export const purchasesManifest = z.object({
  kind: z.literal('purchases'),
  ...common,
  wallet: z.string().regex(/^0x[0-9a-f]{40}$/),
  /** The wallet's signature over all the rest (see `exportToSign`). Null if incomplete or written by an earlier version. */
  signature: z
    .string()
    .regex(/^0x[0-9a-f]{130}$/)
    .nullable()
    .default(null),
});
export type PurchasesManifest = z.output<typeof purchasesManifest>;

export const manifest = z.discriminatedUnion('kind', [storeManifest, purchasesManifest]);
export type Manifest = z.output<typeof manifest>;

const attributes = Object.fromEntries(
  ATTRIBUTE_NAMES.map((name) => [name, z.string().nullable().default(null)]),
) as Record<keyof Attributes, z.ZodDefault<z.ZodNullable<z.ZodString>>>;

/** `listings/<id>.json`. Only the members of `listing` that are needed to list it again are checked; the rest is kept as it came. */
export const listingFile = z.object({
  version,
  listing: z.looseObject({
    id: z.int().positive(),
    title: z.string(),
    description: z.string(),
    preview: z.string(),
    tags: z.array(z.string()),
    keywords: z.array(z.string()).default([]),
    aisle: z.enum(AISLES),
    price_usdc: z.number(),
    seller_wallet: z.string().regex(/^0x[0-9a-fA-F]{40}$/),
    state: z.enum(LISTING_STATES),
    supersedes: z.int().nullable(),
    artifact_commitment: hash.nullable(),
    created_at: z.string(),
    ...attributes,
  }),
  /** Null for a city thing. */
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
  /** Lets a market that lost the fee restore it. */
  recovery_slip: z.string().nullable(),
});
export type ListingFile = z.output<typeof listingFile>;

/** `purchases/<day>-<digest>-<sequence>.json`: a record of the book. Contains the signed proof of a payment in progress. */
export const purchaseFile = z.object({
  version,
  record: spendRecord,
  /** File in `goods`. Null if there are no goods, or they were missing, changed or too large. */
  goods: fileName.nullable(),
});
export type PurchaseFile = z.output<typeof purchaseFile>;

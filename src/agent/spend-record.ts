import { z } from 'zod';
import { receiptOut } from '../contract/payments.ts';
import { NETWORK_NAMES } from '../contract/vocabulary.ts';
import { savedPayment } from '../sdk/payments/proof-store.ts';

/**
 * `reserved`: it counts, and nothing is signed. `signed`: an authorization exists, and may be carried out until it is known otherwise.
 * `settled`: the goods are on the disk, or the listing is live. `over`: it ended unpaid, and a later payment took its place.
 */
export const SPEND_STATES = ['reserved', 'signed', 'settled', 'over'] as const;

/** Where goods lie, and all that shows that they are what was promised and paid for. */
const keptGoods = z.strictObject({
  /** Absolute. */
  path: z.string(),
  bytes: z.int(),
  media_type: z.string(),
  /** What the listing published: SHA-256 over salt and bytes. */
  commitment: z.string(),
  salt: z.string(),
  receipt: receiptOut.nullable(),
  /** By which a market that lost the purchase takes it back. */
  recovery_slip: z.string().nullable(),
});
export type KeptGoods = z.output<typeof keptGoods>;

const keptListing = z.strictObject({
  listing_id: z.int(),
  url: z.string(),
  /** Of the fee; null where none was due. */
  tx_hash: z.string().nullable(),
});
export type KeptListing = z.output<typeof keptListing>;

/** One payment of this wallet, or one thing that was had without. It holds secrets while `saved` is there: see `savedPayment`. */
export const spendRecord = z.strictObject({
  version: z.literal(1),
  /** Of the SDK's proof store: it names market and purpose. */
  key: z.string(),
  /** Counts the payments under one key from 1. */
  sequence: z.int().positive(),
  market: z.string(),
  kind: z.enum(['purchase', 'listing_fee']),
  /** Of the goods; null for a fee. */
  listing_id: z.int().nullable(),
  title: z.string(),
  seller: z.string().nullable(),
  payee: z.templateLiteral(['0x', z.string()]),
  network: z.enum(NETWORK_NAMES),
  /** What was reserved, or what was signed for. 0 where it turned out that nothing was due. */
  amount_units: z.string().regex(/^\d{1,39}$/),
  reserved_at: z.string(),
  state: z.enum(SPEND_STATES),
  /** Where the goods were asked for; null: the usual folder. */
  out_dir: z.string().nullable(),
  /** The exact body of a listing whose fee is under way: only the same body is the same listing. */
  listing: z.record(z.string(), z.unknown()).nullable(),
  saved: savedPayment.nullable(),
  delivery: keptGoods.nullable(),
  listed: keptListing.nullable(),
});
export type SpendRecord = z.output<typeof spendRecord>;

/** What is about to be paid, before it is in the book. */
export type SpendPlan = Pick<
  SpendRecord,
  'key' | 'market' | 'kind' | 'listing_id' | 'title' | 'seller' | 'payee' | 'network' | 'out_dir' | 'listing'
> & { amountUnits: bigint };

/** True while it has never been signed for: it can be forgotten. */
export function isUnsigned({ state, saved }: SpendRecord): boolean {
  return state === 'reserved' && saved === null;
}

/** The same payment once more. */
export function spendPlanOf(record: SpendRecord): SpendPlan {
  const { key, market, kind, listing_id, title, seller, payee, network, out_dir, listing } = record;
  const amountUnits = BigInt(record.amount_units);
  return { key, market, kind, listing_id, title, seller, payee, network, out_dir, listing, amountUnits };
}

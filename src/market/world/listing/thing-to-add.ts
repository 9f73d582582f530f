import { z } from 'zod';
import type { Draft } from '../drafts/store.ts';

/** What was read of the offer when it was compared with the draft, and is listed when the fee is final. */
export const listedOffer = z.strictObject({
  city_origin: z.string(),
  offer_id: z.int().positive(),
  seller_handle: z.string(),
  offer_url: z.string(),
  thing_url: z.string(),
});
export type ListedOffer = z.output<typeof listedOffer>;

export interface ThingToAdd {
  /** Locked. */
  draft: Draft;
  offer: ListedOffer;
  bodyHash: Buffer;
  /** Null only for the maintainer, whose free listings are logged as such. */
  feeId: bigint | null;
}

import { z } from 'zod';
import { unitsOfUsdc } from '../contract/money.ts';
import { NETWORK_NAMES } from '../contract/vocabulary.ts';

const address = z
  .string()
  .regex(/^0x[0-9a-fA-F]{40}$/)
  .transform((text) => text as `0x${string}`);

const shownFields = z.object({
  id: z.int().positive(),
  title: z.string(),
  merchant: z.string(),
  price_usdc: z.number().min(0),
  seller_wallet: address,
  state: z.string(),
  artifact_commitment: z.string(),
  network: z.enum(NETWORK_NAMES),
  usdc: address,
  explorer_url: z
    .string()
    .regex(/^https?:/)
    .nullable(),
});

/** The goods and their terms as the page shows them. The user agrees to these, so nothing else may be signed. */
export type Offer = z.output<typeof shownFields> & { units: bigint };

export function readOffer(text: string): Offer {
  const offer = shownFields.parse(JSON.parse(text));
  const units = unitsOfUsdc(offer.price_usdc);
  if (units === null) throw new TypeError('the price cannot be read');
  return { ...offer, units };
}

import { z } from 'zod';

const ms = z.number();

/** How far a purchase has come, for every tab of this browser, and what is needed to read the goods again. The token is a secret. */
export const purchaseRecord = z.object({
  version: z.literal(1),
  payer: z.string().nullable(),
  /** `asking`: nothing is signed. `paying`: a proof is kept. `bought`: delivered. */
  phase: z.enum(['asking', 'paying', 'bought']),
  at: z.object({
    begun: ms,
    signed: ms.optional(),
    settled: ms.optional(),
    final: ms.optional(),
    delivered: ms.optional(),
  }),
  /** Where the transfer stands, as far as one is seen. */
  transfer: z
    .object({
      tx_hash: z.string().regex(/^0x[0-9a-f]{64}$/),
      block: z.int().nullable(),
      /** The last final block when the transfer was first seen in this block, and now. */
      head_first: z.int().nullable(),
      head: z.int().nullable(),
    })
    .nullable(),
  /** When it should be final, by the market's guess. */
  final_about: ms.nullable(),
  /** Since when no answer comes. */
  silent_since: ms.nullable(),
  token: z.string().nullable(),
  /** By which a market that has lost the purchase takes it back. Missing in what earlier versions kept. */
  recovery_slip: z.string().nullable().default(null),
});
export type PurchaseRecord = z.output<typeof purchaseRecord>;

export function beginRecord(payer: string | null, nowMs: number): PurchaseRecord {
  return {
    version: 1,
    ...{ payer, phase: 'asking', at: { begun: nowMs }, transfer: null },
    ...{ final_about: null, silent_since: null, token: null, recovery_slip: null },
  };
}

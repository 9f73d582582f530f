import type { Client } from '../../../src/sdk/client.ts';
import { type FeeRecord, treasuryPages } from '../../../src/sdk/pages.ts';
import { PageRefused } from '../../../src/sdk/walk-pages.ts';
import { unitsOf } from '../told.ts';

export interface PublicFees {
  /** New since the state, newest first. */
  fees: FeeRecord[];
  /** Of all of them, by their own sum. */
  units: bigint;
  lastId: number;
  faults: string[];
}

/** The books of the treasury, down to the fee that the state remembers. They add up to what the market says it has collected. */
export async function readFees(
  client: Client,
  before: { fee_id: number; fees_units: string } | null,
): Promise<PublicFees> {
  const rememberedId = before?.fee_id ?? 0;
  const faults: string[] = [];
  const fees: FeeRecord[] = [];
  const { body } = await client.getTreasury({ query: {} });
  const newest = body.recent_fees[0]?.id ?? 0;
  try {
    for await (const { rows } of treasuryPages(client)) {
      // What came after the first page was read belongs to the next audit.
      fees.push(...rows.filter(({ id }) => id > rememberedId && id <= newest));
      if ((rows.at(-1)?.id ?? 0) <= rememberedId) break;
    }
  } catch (error) {
    if (!(error instanceof PageRefused)) throw error;
    faults.push(`the treasury's books contradict themselves: ${error.message}`);
  }
  if (newest < rememberedId) faults.push(`the treasury's books have no fee ${rememberedId}, which the state remembers`);
  const units = fees.reduce((sum, fee) => sum + BigInt(unitsOf(fee.amount_usdc)), BigInt(before?.fees_units ?? 0));
  if (units !== BigInt(unitsOf(body.fees_collected_usdc)))
    faults.push(`the fees add up to ${units} units, and the treasury says ${unitsOf(body.fees_collected_usdc)}`);
  return { fees, units, lastId: Math.max(newest, rememberedId), faults };
}

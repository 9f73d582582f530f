import { z } from 'zod';
import { readCode } from '../platform/chain/reads.ts';
import { type Hex, isHex } from '../platform/hex.ts';
import { unitsOfWei } from './budget/price.ts';
import { restingSeconds } from './budget/rests.ts';
import type { Context } from './context.ts';
import { readEther } from './read-transaction.ts';

/** What a settlement takes, more or less: a transfer to a wallet that never held the token. */
const USUAL_GAS = 110_000n;
const KEPT_MS = 2_000;

const address = z
  .string()
  .transform((text) => text.toLowerCase())
  .pipe(z.custom<Hex>((value) => isHex(value, 20)));

/** All of it or nothing: without a payer it is asked how the facilitator stands. */
export const stateQuery = z.union([
  z.strictObject({ payer: address, payee: address }),
  z.strictObject({}).transform(() => null),
]);
export type StateQuery = z.output<typeof stateQuery>;

export interface State {
  /** How many settlements the account can still pay gas for; null: not known. */
  settlements_covered: number | null;
  /** Of the payer that was named: whether a settlement would be begun now. */
  may_settle?: boolean;
  why?: 'payer_resting' | 'gas_budget_spent' | null;
  retry_after_seconds?: number | null;
}

/** What a market asks before it opens a payment. */
export function createReadState(context: Context): (query: StateQuery) => Promise<State> {
  const { clock, rpc, quoteGas } = context;
  let kept: { at: number; value: Promise<number | null> } | null = null;
  const covered = (): Promise<number | null> => {
    if (kept === null || kept.at + KEPT_MS <= clock.now()) {
      const reading = Promise.all([readEther(rpc, context.address), quoteGas.fees()]).then(
        ([wei, { price }]) => Number(min(wei / (USUAL_GAS * (price > 0n ? price : 1n)), 1_000_000_000n)),
        () => null,
      );
      kept = { at: clock.now(), value: reading };
    }
    return kept.value;
  };
  return async (query) => {
    const settlements_covered = await covered();
    if (query === null) return { settlements_covered };
    const refusal = await findRefusal(context, query);
    return {
      settlements_covered,
      may_settle: refusal === null,
      why: refusal?.why ?? null,
      retry_after_seconds: refusal?.seconds ?? null,
    };
  };
}

async function findRefusal(
  context: Context,
  { payer, payee }: { payer: Hex; payee: Hex },
): Promise<{ why: 'payer_resting' | 'gas_budget_spent'; seconds: number } | null> {
  const { journal, clock, budget, quoteGas, etherUnits, rpc } = context;
  const resting = restingSeconds(journal.rests().get(payer), clock.now());
  if (resting > 0) return { why: 'payer_resting', seconds: resting };
  const payerKnown = journal.isKnown(payer);
  try {
    const [{ price }, code] = await Promise.all([
      quoteGas.fees(),
      payerKnown ? Promise.resolve('0x') : readCode(rpc, payer, 'latest'),
    ]);
    const grant = budget.find({
      hasCode: code !== '0x',
      payerKnown,
      payeeKnown: journal.isKnown(payee),
      units: unitsOfWei(USUAL_GAS * price, etherUnits),
    });
    return 'pool' in grant ? null : { why: 'gas_budget_spent', seconds: grant.retryAfterSeconds };
  } catch {
    // A chain that cannot be read is found out by /verify, which says so.
    return null;
  }
}

function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}

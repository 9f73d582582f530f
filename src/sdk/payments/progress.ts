import { type PaymentOut, paymentOut } from '../../contract/payments.ts';
import { MarketError } from '../market-error.ts';
import type { AnyReason } from '../problem.ts';

/**
 * `signed`: the authorization exists and is saved. `submitted`: the market has been handed it; no transfer is seen yet. `pending`: the
 * transfer is seen, or the payment known, and not final. `collecting`: paid for; the wallet signs to show that it is the payer.
 */
export type ProgressPhase = 'signed' | 'submitted' | 'pending' | 'collecting' | 'delivered';

export interface Progress {
  phase: ProgressPhase;
  /** As the market last told it. */
  payment?: PaymentOut;
  secondsWaited: number;
  /** Of the refusal that is waited out. */
  reason?: AnyReason;
  /** The market's guess at what finality still takes. */
  estimateSeconds?: number;
}

export type OnProgress = (progress: Progress) => void;

/** The payment that a refusal tells of, if it tells of one. */
export function paymentIn(error: unknown): PaymentOut | undefined {
  if (!(error instanceof MarketError)) return undefined;
  const parsed = paymentOut.safeParse(error.problem['payment']);
  return parsed.success ? parsed.data : undefined;
}

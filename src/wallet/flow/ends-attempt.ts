import { MarketError } from '../../sdk/market-error.ts';
import type { AnyReason } from '../../sdk/problem.ts';

/** After these the SDK signs once more for the same goods, when it is allowed to. */
const SIGN_ANEW: readonly AnyReason[] = ['authorization_lapsed', 'payment_invalid'];
/** After these there is nothing to sign for, or the person has to look elsewhere first. */
const OVER: readonly AnyReason[] = [
  ...(['listing_removed', 'listing_unavailable', 'payee_cannot_receive'] as const),
  ...(['x402_not_offered', 'price_above_limit', 'authorization_used_elsewhere'] as const),
];

/** True only where the market says of a proof that it has seen that it ended unpaid. A plain request for money says no such thing. */
export function endsAttempt(error: unknown): boolean {
  if (!(error instanceof MarketError) || error.doNotPayAgain !== false) return false;
  return SIGN_ANEW.includes(error.reason) || OVER.includes(error.reason);
}

export function maySignAnew(error: unknown): boolean {
  return !(error instanceof MarketError) || SIGN_ANEW.includes(error.reason);
}

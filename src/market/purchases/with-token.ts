import { refuseUnreadable } from '../../platform/http/refuse-unreadable.ts';
import { Refusal } from '../../platform/refusal.ts';
import type { Market } from '../context.ts';
import type { BuyAnswer } from './deliver.ts';

/**
 * The one request without a key that opened a payment gets the delivery token in its answer, whatever that answer is: in the body,
 * and in a header for an answer of bytes alone.
 */
export async function withToken(
  market: Market,
  token: string | null,
  act: () => Promise<BuyAnswer | null>,
): Promise<BuyAnswer | null> {
  if (token === null) return await act();
  try {
    const answer = await act();
    if (answer === null) return null;
    const headers = { ...answer.headers, 'x-delivery-token': token };
    if (answer.status === 200) return { ...answer, headers, body: { ...answer.body, delivery_token: token } };
    return { ...answer, headers, body: { ...answer.body, delivery_token: token } };
  } catch (error) {
    throw refuseWithToken(market, token, error);
  }
}

/** Any failure after the row, or after a commit of it that was never answered, as a refusal that carries the token. */
export function refuseWithToken(market: Market, token: string, error: unknown): Refusal {
  const refusal = error instanceof Refusal ? error : refuseBug(market, error);
  const fields = { ...refusal.options.fields, delivery_token: token };
  return new Refusal(refusal.reason, { ...refusal.options, fields });
}

/** The row may be there: an answer without the token would be worse than one that says little. */
function refuseBug(market: Market, error: unknown): Refusal {
  market.log.error('purchase_answer_failed', { error });
  const known = refuseUnreadable(error, []) ?? new Refusal('internal_error');
  return new Refusal(known.reason, { ...known.options, doNotPayAgain: true });
}

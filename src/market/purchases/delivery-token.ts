import { sha256 } from '../../platform/canonical-json.ts';
import { refuseUnreadable } from '../../platform/http/failure.ts';
import { Refusal } from '../../platform/refusal.ts';
import { isDeliveryToken } from '../../platform/secrets.ts';
import type { Market } from '../context.ts';
import { findByToken } from '../payments/store.ts';
import type { BuyAnswer } from './deliver.ts';

/** A delivery token from a request. `own` has the form of tokens that clients make, `issued` that of tokens we issue. */
export interface SentToken {
  hash: Buffer;
  form: 'own' | 'issued' | 'neither';
}

const ISSUED_TOKEN = /^[A-Za-z0-9_-]{43}$/;

export function readToken(text: string, prefix: string): SentToken {
  const hash = tokenHashOf(text);
  if (isDeliveryToken(text, prefix)) return { hash, form: 'own' };
  return { hash, form: ISSUED_TOKEN.test(text) ? 'issued' : 'neither' };
}

export function tokenHashOf(token: string): Buffer {
  return sha256('delivery-token\0', token);
}

function refuseToken(message: string): Refusal {
  return new Refusal('invalid_fields', {
    errors: [{ path: 'X-Delivery-Token', message }],
    nextStep: 'Nothing was stored or submitted. Send the same request without that token, or with a new one.',
  });
}

interface TokenRequest {
  token: SentToken | null;
  merchant: object | null;
  collectOnly: boolean;
}

/**
 * Checks a token that belongs to no payment, in a request whose proof has not opened one yet. A token that we issued may come from an
 * opening that was never committed, so it is ignored.
 */
export function checkOpeningToken({ token, merchant, collectOnly }: TokenRequest): void {
  if (token?.form === 'neither') throw refuseToken('must be <prefix>_dt_, 43 of 0-9A-Za-z and a checksum');
  if (token?.form !== 'own') return;
  if (merchant !== null) throw refuseToken('goes without a key: what a key has bought, the key collects');
  if (collectOnly) throw refuseToken('goes with what opens a payment, and this only collects');
}

/** Refuses a token that has no proof and no payment for this listing. The client may have paid, so it must not get a 402. */
export function refuseStrayToken({ token, merchant }: TokenRequest, isFree: boolean): Refusal {
  if (token?.form === 'own' && isFree) return refuseToken(NOT_FOR_FREE);
  if (token?.form === 'own' && merchant !== null)
    return refuseToken('goes without a key, and belongs to no payment here');
  return new Refusal('payment_not_found', { detail: 'The delivery token belongs to no payment for this listing.' });
}

/** Rejects a token for free goods, because there is no payment that it could belong to. */
export function rejectTokenForFreeGoods(token: SentToken | null): void {
  if (token?.form === 'own') throw refuseToken(NOT_FOR_FREE);
}

const NOT_FOR_FREE = 'goes with a payment, and these goods are free';

/** Returns the hash of the client's own token for the new payment. Null if it sent none. */
export async function readClientTokenHash(market: Market, { token }: TokenRequest): Promise<Buffer | null> {
  if (token?.form !== 'own') return null;
  if ((await findByToken(market.database, token.hash)) !== null) throw new Refusal('delivery_token_used');
  return token.hash;
}

/** Adds the token to every answer to the keyless request that opened a payment: to the body, and to a header for raw bytes. */
export async function addTokenToAnswer(
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

/** Turns a failure after the row was written, or after a commit with unknown outcome, into a refusal that carries the token. */
export function refuseWithToken(market: Market, token: string, error: unknown): Refusal {
  const refusal = toSafeRefusal(market, error, 'purchase_answer_failed');
  const fields = { ...refusal.options.fields, delivery_token: token };
  return new Refusal(refusal.reason, { ...refusal.options, fields });
}

/**
 * Turns a failure after a possible payment into a refusal with "do not pay again", because the purchase's row may exist and no error may
 * sound as if nothing had happened.
 */
export function toSafeRefusal(market: Market, error: unknown, event: string): Refusal {
  if (error instanceof Refusal) return error;
  market.log.error(event, { error });
  const readable = refuseUnreadable(error, []) ?? new Refusal('internal_error');
  return new Refusal(readable.reason, { ...readable.options, doNotPayAgain: true });
}

import type { IncomingHttpHeaders } from 'node:http';
import type { Auth } from '../../contract/endpoint.ts';
import { HEADER_LIMIT_BYTES } from '../../contract/vocabulary.ts';
import { Refusal } from '../refusal.ts';
import type { PaymentHeaders } from './operation.ts';

export const PAYMENT_HEADER_NAMES = ['x-payment', 'payment-signature', 'x-delivery-token', 'x-recovery-slip'] as const;

/** Whether a proof, a token or a slip came with the request; which one, and whether it is any, is looked at later. */
export function bringsPayment(headers: IncomingHttpHeaders): boolean {
  return PAYMENT_HEADER_NAMES.some((name) => headers[name] !== undefined);
}

/** Every value of a header as sent; Node joins repeated ones with a comma, which would hide that there were two. */
export function headerValues(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
}

/** At most one proof, once (W7). */
export function readPaymentHeaders(rawHeaders: readonly string[]): PaymentHeaders {
  const [v1, v2, tokens] = PAYMENT_HEADER_NAMES.map((name) => headerValues(rawHeaders, name));
  const proofs = [...(v1 ?? []), ...(v2 ?? [])];
  if (proofs.some((proof) => proof.length > HEADER_LIMIT_BYTES)) throw new Refusal('headers_too_large');
  if (proofs.length > 1) {
    throw new Refusal('two_proofs', { detail: 'X-PAYMENT and PAYMENT-SIGNATURE together hold more than one proof.' });
  }
  if ((tokens?.length ?? 0) > 1)
    throw new Refusal('two_proofs', { detail: 'X-Delivery-Token was sent more than once.' });
  return { v1: v1?.[0] ?? null, v2: v2?.[0] ?? null, deliveryToken: tokens?.[0] ?? null, ...readSlip(rawHeaders) };
}

/** What a market once said of a payment, which it may have lost since; read on every route that acts. */
export function readSlip(rawHeaders: readonly string[]): Pick<PaymentHeaders, 'recoverySlip'> {
  return { recoverySlip: headerValues(rawHeaders, 'x-recovery-slip')[0] ?? null };
}

interface Identified<Caller> {
  caller: Caller | null;
  /** As sent, only where the operation judges it itself. */
  bearer: string | null;
}

export interface Identification<Caller> {
  /** Whether that is a secret whose place is not Authorization: a code. */
  isCode(bearer: string): boolean;
  authenticate(bearer: string): Promise<Caller | null>;
  isMaintainer(caller: Caller): boolean;
}

/** One token behind the word. */
export const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/** Who calls, as far as the route wants to know. `audit` and `public` never look. */
export async function identifyCaller<Caller>(
  auth: Auth,
  from: { rawHeaders: readonly string[]; known?: Caller | undefined },
  by: Identification<Caller>,
): Promise<Identified<Caller>> {
  if (auth === 'audit' || auth === 'public') return { caller: null, bearer: null };
  if (auth === 'staged_key') return { caller: null, bearer: readBearer(from.rawHeaders, by) };
  const caller = from.known ?? (await callerOf(readBearer(from.rawHeaders, by), by));
  if (caller === null && auth !== 'optional_key') throw new Refusal('key_required');
  if (caller !== null && auth === 'maintainer' && !by.isMaintainer(caller)) throw new Refusal('maintainer_only');
  return { caller, bearer: null };
}

async function callerOf<Caller>(bearer: string | null, by: Identification<Caller>): Promise<Caller | null> {
  if (bearer === null) return null;
  const caller = await by.authenticate(bearer);
  if (caller === null) throw new Refusal('key_invalid');
  return caller;
}

/** The key as sent; it is not judged here. A code there is a secret out of its place (W1). */
export function readBearer(
  rawHeaders: readonly string[],
  { isCode }: Pick<Identification<never>, 'isCode'>,
): string | null {
  const [value, another] = headerValues(rawHeaders, 'authorization');
  if (value === undefined) return null;
  if (another !== undefined) throw new Refusal('key_invalid', { detail: 'Authorization was sent more than once.' });
  const token = BEARER.exec(value.trim())?.[1];
  if (isCode(token ?? value.trim())) throw new Refusal('secret_in_payload');
  if (token === undefined) throw new Refusal('key_invalid', { detail: 'Authorization must be Bearer and one key.' });
  return token;
}

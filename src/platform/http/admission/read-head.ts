import type { IncomingMessage } from 'node:http';
import { PAYMENT_HEADER_NAMES } from '../payment-headers.ts';
import { SHORT_BODY_BYTES } from './bounds.ts';

/** A key, token or proof stands in the head. Whether it is one is looked at later. */
export function showsCredential({ headers }: IncomingMessage): boolean {
  return headers.authorization !== undefined || PAYMENT_HEADER_NAMES.some((name) => headers[name] !== undefined);
}

export function bringsLongBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  if (length !== undefined) return Number(length) > SHORT_BODY_BYTES;
  return headers['transfer-encoding'] !== undefined;
}

/** Whether what a request showed was found to be worth nothing, as far as the status of its answer says. */
export function failedToProve({ headers }: IncomingMessage, status: number): boolean {
  if (status === 401 || status === 408) return true;
  if (status === 404) return headers['x-delivery-token'] !== undefined;
  const hasProof = headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined;
  return hasProof && (status === 400 || status === 402);
}

import type { EndpointShape } from '../../contract/endpoint.ts';
import { META } from '../../contract/tools.ts';
import { Refusal } from '../../platform/refusal.ts';

type Meta = Readonly<Record<string, unknown>>;

/**
 * Proof, delivery token and recovery slip as the headers that the route reads; they travel next to the arguments, where no model writes. A
 * claim has its payment in its arguments, and is for an intent that may have been lost.
 */
export function readPayment({ payment, claim }: EndpointShape, meta: Meta): Record<string, string> {
  if (payment !== true && claim !== true) return {};
  const slip = textOf(meta, META.recoverySlip, 'x-recovery-slip');
  if (payment !== true) return slip;
  return { ...proofOf(meta[META.payment]), ...textOf(meta, META.deliveryToken, 'x-delivery-token'), ...slip };
}

function proofOf(proof: unknown): Record<string, string> {
  if (proof === undefined) return {};
  const version = typeof proof === 'object' && proof !== null && 'x402Version' in proof ? proof.x402Version : null;
  if (version !== 1 && version !== 2) {
    throw new Refusal('malformed_proof', {
      detail: `_meta["${META.payment}"] is no x402 payload of version 1 or 2.`,
      nextStep: `Put the x402 payload itself, a JSON object, into _meta["${META.payment}"].`,
    });
  }
  const text = Buffer.from(JSON.stringify(proof)).toString('base64');
  return version === 1 ? { 'x-payment': text } : { 'payment-signature': text };
}

function textOf(meta: Meta, name: string, header: string): Record<string, string> {
  const text = meta[name];
  if (text === undefined) return {};
  if (typeof text === 'string') return { [header]: text };
  throw new Refusal('invalid_fields', { errors: [{ path: `_meta.${name}`, message: 'must be text' }] });
}

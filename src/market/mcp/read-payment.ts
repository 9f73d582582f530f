import { META } from '../../contract/tools.ts';
import { Refusal } from '../../platform/refusal.ts';

type Meta = Readonly<Record<string, unknown>>;

/** Proof and delivery token as the headers that the route reads; they travel beside the arguments, where no model writes. */
export function readPayment(meta: Meta): Record<string, string> {
  return { ...proofOf(meta[META.payment]), ...tokenOf(meta[META.deliveryToken]) };
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

function tokenOf(token: unknown): Record<string, string> {
  if (token === undefined) return {};
  if (typeof token === 'string') return { 'x-delivery-token': token };
  throw new Refusal('invalid_fields', { errors: [{ path: `_meta.${META.deliveryToken}`, message: 'must be text' }] });
}

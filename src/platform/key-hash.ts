import { timingSafeEqual } from 'node:crypto';
import type { Pepper } from './pepper.ts';
import { Refusal } from './refusal.ts';

export interface KeyHash {
  keyHash: Buffer;
  pepperVersion: number;
}

/** A key from the body or from Authorization. */
export interface PresentedKey {
  body: { merchant_key?: string | undefined };
  bearer: string | null;
}

/** Rejects a confirmation without the key shown before. */
export function requireSameKey(stored: KeyHash, { body, bearer }: PresentedKey, pepper: Pepper): void {
  const key = readPresentedKey(bearer, body.merchant_key ?? null);
  const presented = pepper.hashes(key).find(({ version }) => version === stored.pepperVersion);
  if (presented !== undefined && timingSafeEqual(presented.hash, stored.keyHash)) return;
  throw new Refusal('key_invalid', {
    detail: 'This is not the key that the stage showed.',
    nextStep: 'Send the key that this stage showed, in Authorization.',
  });
}

function readPresentedKey(bearer: string | null, inBody: string | null): string {
  const nextStep = 'Send the key that this stage showed, in Authorization and nowhere else.';
  if (bearer !== null && inBody !== null && bearer !== inBody)
    throw new Refusal('key_invalid', { detail: 'Authorization and merchant_key carry different keys.', nextStep });
  const key = bearer ?? inBody;
  if (key === null) throw new Refusal('key_required', { nextStep });
  return key;
}

import { timingSafeEqual } from 'node:crypto';
import type { Pepper } from './pepper.ts';
import { Refusal } from './refusal.ts';

/** What is kept of a key. */
export interface KeyHash {
  keyHash: Buffer;
  pepperVersion: number;
}

/** The key that a confirm brings, from one place or the other. */
export interface PresentedKey {
  body: { merchant_key?: string | undefined };
  bearer: string | null;
}

/** Refuses a confirm without the key that its stage showed. */
export function requireSameKey(staged: KeyHash, { body, bearer }: PresentedKey, pepper: Pepper): void {
  const key = presentedKey(bearer, body.merchant_key ?? null);
  const presented = pepper.hashes(key).find(({ version }) => version === staged.pepperVersion);
  if (presented !== undefined && timingSafeEqual(presented.hash, staged.keyHash)) return;
  throw new Refusal('key_invalid', {
    detail: 'This is not the key that the stage showed.',
    nextStep: 'Send the key that this stage showed, in Authorization.',
  });
}

function presentedKey(bearer: string | null, inBody: string | null): string {
  const nextStep = 'Send the key that this stage showed, in Authorization and nowhere else.';
  if (bearer !== null && inBody !== null && bearer !== inBody)
    throw new Refusal('key_invalid', { detail: 'Authorization and merchant_key carry different keys.', nextStep });
  const key = bearer ?? inBody;
  if (key === null) throw new Refusal('key_required', { nextStep });
  return key;
}

import { createECDH } from 'node:crypto';
import type { JWK } from 'oidc-provider';
import type { Pepper } from '../context.ts';

/**
 * Everything that signs comes from the pepper, so that all processes have the same and a restart breaks off nothing. Cookies are read under
 * every pepper that is kept.
 */
export function cookieKeys(pepper: Pepper): string[] {
  return pepper.hashes('openaisle oauth cookies').map(({ hash }) => hash.toString('base64url'));
}

const MOST_TRIES = 8;

/** Nothing is signed with it today: tokens are opaque. Discovery wants a key set all the same. */
export function signingKey(pepper: Pepper): JWK {
  for (let nth = 1; nth <= MOST_TRIES; nth += 1) {
    const jwk = p256(pepper.hash(`openaisle oauth es256 ${nth}`));
    if (jwk !== null) return jwk;
  }
  throw new Error('no hash is a key of the curve');
}

/** Null for a number that is none of the curve's, which one in four thousand million is. */
export function p256(scalar: Uint8Array): JWK | null {
  const curve = createECDH('prime256v1');
  try {
    curve.setPrivateKey(scalar);
  } catch {
    return null;
  }
  // 0x04, then both coordinates.
  const point = curve.getPublicKey();
  const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
  return {
    ...{ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' },
    ...{ x: text(point.subarray(1, 33)), y: text(point.subarray(33)), d: text(scalar) },
  };
}

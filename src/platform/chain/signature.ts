import { recoverAddress } from 'viem/utils';
import { type Hex, isHex } from '../hex.ts';

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/**
 * 65 bytes, r and s in range, s in the lower half, v 27 or 28, lower-case hex. Every signature has a twin with the other s that
 * recovers to the same address; the token refuses it, and so must we.
 */
export function isCanonicalSignature(signature: unknown): signature is Hex {
  if (!isHex(signature, 65)) return false;
  const r = BigInt(signature.slice(0, 66));
  const s = BigInt(`0x${signature.slice(66, 130)}`);
  const v = signature.slice(130);
  return r > 0n && r < CURVE_ORDER && s > 0n && s <= CURVE_ORDER / 2n && (v === '1b' || v === '1c');
}

/** Null for a signature that is not canonical or that no key can have made. */
export async function recoverSigner(digest: Hex, signature: Hex): Promise<Hex | null> {
  if (!isCanonicalSignature(signature)) return null;
  try {
    const address = (await recoverAddress({ hash: digest, signature })).toLowerCase();
    return isHex(address, 20) ? address : null;
  } catch {
    // An r that is no point of the curve. Nothing else throws here: the form has been checked.
    return null;
  }
}

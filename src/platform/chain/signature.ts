import { recoverAddress } from 'viem/utils';
import { sha256 } from '../canonical-json.ts';
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

const REMEMBERED = 2_000;
/** By a hash, so that no signature rests here; a signature always recovers to the same address. */
const recovered = new Map<string, Hex | null>();

/**
 * Null for a signature that is not canonical or that no key can have made. The same one is worked out once: recovering is by far the
 * dearest computation of a payment, and every step of one looks at its signature again.
 */
export async function recoverSigner(digest: Hex, signature: Hex): Promise<Hex | null> {
  if (!isCanonicalSignature(signature)) return null;
  const key = sha256(digest, signature).toString('base64');
  const known = recovered.get(key);
  if (known !== undefined) return known;
  const signer = await recover(digest, signature);
  const [oldest] = recovered.keys();
  if (recovered.size >= REMEMBERED && oldest !== undefined) recovered.delete(oldest);
  recovered.set(key, signer);
  return signer;
}

async function recover(digest: Hex, signature: Hex): Promise<Hex | null> {
  try {
    const address = (await recoverAddress({ hash: digest, signature })).toLowerCase();
    return isHex(address, 20) ? address : null;
  } catch {
    // An r that is no point of the curve. Nothing else throws here: the form has been checked.
    return null;
  }
}

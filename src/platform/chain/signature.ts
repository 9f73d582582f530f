import { recover } from 'tiny-secp256k1';
import { keccak256 } from 'viem/utils';
import { sha256 } from '../canonical-json.ts';
import { type Hex, isHex, toBytes, toHex } from '../hex.ts';

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
  const signer = recoverAddress(digest, signature);
  const [oldest] = recovered.keys();
  if (recovered.size >= REMEMBERED && oldest !== undefined) recovered.delete(oldest);
  recovered.set(key, signer);
  return signer;
}

/** By a WebAssembly build of libsecp256k1: about six times as fast as one in JavaScript. */
function recoverAddress(digest: Hex, signature: Hex): Hex | null {
  const bytes = toBytes(signature);
  try {
    const key = recover(toBytes(digest), bytes.subarray(0, 64), (bytes[64] ?? 0) % 27 === 0 ? 0 : 1, false);
    // An address is the end of the hash of the key, without the byte that says how the key is written.
    return key === null ? null : toHex(keccak256(key.subarray(1), 'bytes').subarray(12));
  } catch {
    // An r that is no point of the curve. Nothing else throws here: the form has been checked.
    return null;
  }
}

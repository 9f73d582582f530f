import type { Hex } from '../../../src/platform/hex.ts';

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

const sOf = (signature: Hex): bigint => BigInt(`0x${signature.slice(66, 130)}`);
const word = (value: bigint): string => value.toString(16).padStart(64, '0');

/** Returns the signature with v as 0 or 1. */
export function withShortV(signature: Hex): Hex {
  return `${signature.slice(0, 130)}${signature.endsWith('1b') ? '00' : '01'}` as Hex;
}

/** Returns the 64-byte form with the parity in the highest bit of s (EIP-2098). */
export function compacted(signature: Hex): Hex {
  const parity = signature.endsWith('1c') ? 1n << 255n : 0n;
  return `${signature.slice(0, 66)}${word(sOf(signature) | parity)}` as Hex;
}

/** Returns the high-s twin, which recovers to the same address. */
export function highTwin(signature: Hex): Hex {
  return `${signature.slice(0, 66)}${word(CURVE_ORDER - sOf(signature))}${signature.endsWith('1b') ? '1c' : '1b'}` as Hex;
}

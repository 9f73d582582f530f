import { decodeAbiParameters, parseAbiParameters } from 'viem/utils';
import type { Hex } from '../hex.ts';
import type { StateBlock } from './reads.ts';
import type { Rpc } from './rpc.ts';
import { checkContractSignature, type WalletQuestion } from './signature.ts';

const PARITY = 1n << 255n;
/** Maps v 0 and 1 to 27 and 28. */
const LONG_V: Readonly<Record<string, string>> = { '00': '1b', '01': '1c' };

/**
 * Returns the standard form of a key's signature: 65 bytes with v 27 or 28. A v of 0 or 1, and the 64 bytes of EIP-2098, encode the same r,
 * s and parity. Returns anything else unchanged, including a high s, which `isCanonicalSignature` rejects.
 */
export function canonicalForm(signature: Hex): Hex {
  const digits = signature.length - 2;
  if (digits === 130) {
    const v = LONG_V[signature.slice(130)];
    return v === undefined ? signature : `0x${signature.slice(2, 130)}${v}`;
  }
  if (digits !== 128) return signature;
  const word = BigInt(`0x${signature.slice(66)}`);
  const s = (word & (PARITY - 1n)).toString(16).padStart(64, '0');
  return `0x${signature.slice(2, 66)}${s}${word < PARITY ? '1b' : '1c'}`;
}

const ENVELOPE_END = '6492'.repeat(16);
const ENVELOPE = parseAbiParameters('address factory, bytes factoryCalldata, bytes signature');

/** Returns true if the signature is wrapped for a wallet that is not deployed yet (ERC-6492). */
export function isEnvelope(signature: Hex): boolean {
  return signature.endsWith(ENVELOPE_END);
}

/** Returns the signature inside an ERC-6492 envelope. Returns other signatures and broken envelopes unchanged. */
function openEnvelope(signature: Hex): Hex {
  if (!isEnvelope(signature)) return signature;
  const wrapped: Hex = `0x${signature.slice(2, -ENVELOPE_END.length)}`;
  try {
    return decodeAbiParameters(ENVELOPE, wrapped)[2];
  } catch {
    // The envelope cannot be decoded, so the wallet gets these bytes unchanged.
    return signature;
  }
}

/**
 * Returns the form of the signature that a contract wallet accepts (EIP-1271), or null. First tries the bytes as received, without their
 * envelope, because a v of 0 or 1 has another meaning to a Safe. Then tries the standard form, if it differs. Throws `RpcFailure` if the
 * node cannot answer.
 */
export async function findAcceptedForm(
  rpc: Rpc,
  { wallet, digest, signature }: WalletQuestion,
  options: { block?: StateBlock } = {},
): Promise<Hex | null> {
  const sent = openEnvelope(signature);
  for (const form of new Set([sent, canonicalForm(sent)])) {
    if (await checkContractSignature(rpc, { wallet, digest, signature: form }, options)) return form;
  }
  return null;
}

/** Returns the contract to which an account delegates (EIP-7702). Null for other code. */
export function delegateOf(code: Hex): Hex | null {
  const [, delegate] = /^0xef0100([0-9a-f]{40})$/.exec(code) ?? [];
  return delegate === undefined ? null : `0x${delegate}`;
}

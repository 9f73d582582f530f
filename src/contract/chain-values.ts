import { getAddress } from 'viem/utils';
import { z } from 'zod';

const LOWER = /^0x[0-9a-f]{40}$/;
const ANY = /^0x[0-9a-fA-F]{40}$/;

/** An address in EIP-55 or all lower case, read as lower case; a mixed-case one with a wrong checksum is refused (W1). */
export const addressIn = z
  .string()
  .regex(ANY, 'must be 0x and 40 hex digits')
  .transform((given, context) => {
    const lower = given.toLowerCase() as `0x${string}`;
    if (LOWER.test(given) || getAddress(lower) === given) return lower;
    context.addIssue({ code: 'custom', message: 'has a wrong EIP-55 checksum' });
    return z.NEVER;
  });

/** EIP-55, as it goes out. */
export const addressOut = z.string().regex(ANY);

/** A transaction hash in any case, read as lower case. Nothing is trimmed: two spellings must not be two hashes. */
export const hashIn = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex digits')
  .transform((given) => given.toLowerCase() as `0x${string}`);

export const hashOut = z.string().regex(/^0x[0-9a-f]{64}$/);

/** Sellers have many listings each. */
const MOST_KNOWN = 100_000;
const known = new Map<string, string>();

export function checksummed(address: `0x${string}`): string {
  const before = known.get(address);
  if (before !== undefined) return before;
  const spelled = getAddress(address);
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(address, spelled);
  return spelled;
}

import { getAddress } from 'viem/utils';
import { z } from 'zod';

const LOWER = /^0x[0-9a-f]{40}$/;
const ANY = /^0x[0-9a-fA-F]{40}$/;

/** Accepts an address in EIP-55 or lower case and converts it to lower case. Rejects a wrong checksum. */
export const addressIn = z
  .string()
  .regex(ANY, 'must be 0x and 40 hex digits')
  .transform((text, context) => {
    const lower = text.toLowerCase() as `0x${string}`;
    if (LOWER.test(text) || getAddress(lower) === text) return lower;
    context.addIssue({ code: 'custom', message: 'has a wrong EIP-55 checksum' });
    return z.NEVER;
  });

/** An address in an answer, with its EIP-55 checksum. */
export const addressOut = z.string().regex(ANY);

/** Accepts a transaction hash in any case and converts it to lower case, so that each hash has one spelling. */
export const hashIn = z
  .string()
  .regex(/^0x[0-9a-fA-F]{64}$/, 'must be 0x and 64 hex digits')
  .transform((text) => text.toLowerCase() as `0x${string}`);

export const hashOut = z.string().regex(/^0x[0-9a-f]{64}$/);

/** Caches checksums, because a seller's address appears in many listings. */
const cache = new Map<string, string>();
const CACHE_SIZE = 100_000;

export function checksummed(address: `0x${string}`): string {
  const cached = cache.get(address);
  if (cached !== undefined) return cached;
  const spelled = getAddress(address);
  if (cache.size >= CACHE_SIZE) cache.clear();
  cache.set(address, spelled);
  return spelled;
}

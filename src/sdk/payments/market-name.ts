import { formed, type OwnWords, ofOwner, own } from '../../contract/own-words.ts';
import { type Client, readBaseUrl } from '../client.ts';
import { TermsRefused } from './payment-errors.ts';

export type NamedMarket = Pick<Client, 'baseUrl' | 'callsItself'>;

/**
 * Returns the market's address to name in a signature: the caller's `baseUrl`, or `callsItself` if the market claims that one. Any other
 * claim throws `TermsRefused` with `other_market` and names both addresses, because a dishonest market could pass on another market's
 * request and use the signature there.
 */
export function nameToSignFor({ baseUrl, callsItself }: NamedMarket, claimed: string): string {
  const claimedAddress = canonicalAddress(claimed);
  if (claimedAddress === baseUrl) return baseUrl;
  if (claimedAddress !== null && claimedAddress === callsItself) return callsItself;
  const claim =
    claimedAddress === null ? own`gives no address of its own` : own`calls itself ${describeAddress(claimedAddress)}`;
  throw new TermsRefused('other_market', own`The market at ${ofOwner(baseUrl)} ${claim}`);
}

/** Mentions a path without printing it, because it could contain a sentence. */
function describeAddress(address: string): OwnWords {
  const { origin } = new URL(address);
  return origin === address ? formed('origin', origin) : own`${formed('origin', origin)} with a path of its own`;
}

const LONGEST = 200;

/** Normalizes an address for comparison. Returns null if it isn't one. */
function canonicalAddress(text: string): string | null {
  if (text.length > LONGEST) return null;
  try {
    return readBaseUrl(text);
  } catch {
    return null;
  }
}

import { formed, type OwnWords, ofOwner, own } from '../../contract/own-words.ts';
import { type Client, readBaseUrl } from '../client.ts';
import { TermsRefused } from './payment-errors.ts';

/** A client of a market, as far as it says by which address the market is named. */
export type NamedMarket = Pick<Client, 'baseUrl' | 'callsItself'>;

/**
 * The address that stands in what is signed: scheme, host, port and path of the one that the caller named, or of the one that its owner
 * says the market calls itself. A signature that another market could have asked for here, to use it there, is never made. `told`: by the
 * market. Throws `TermsRefused` with `other_market`, which names both.
 */
export function nameToSignFor({ baseUrl, callsItself }: NamedMarket, told: string): string {
  const theirs = canonicalAddress(told);
  if (theirs === baseUrl) return baseUrl;
  if (theirs !== null && theirs === callsItself) return callsItself;
  const said = theirs === null ? own`gives no address of its own` : own`calls itself ${sayAddress(theirs)}`;
  throw new TermsRefused('other_market', own`The market that was named as ${ofOwner(baseUrl)} ${said}`);
}

/** A path could hold a sentence, so it is only told of. */
function sayAddress(address: string): OwnWords {
  const { origin } = new URL(address);
  return origin === address ? formed('origin', origin) : own`${formed('origin', origin)} with a path of its own`;
}

/** Longer ones are no address of a market. */
const LONGEST = 200;

/** Spells an address as ours are spelled, so that two spellings of one are the same; null for a text that is no address. */
function canonicalAddress(told: string): string | null {
  if (told.length > LONGEST) return null;
  try {
    return readBaseUrl(told);
  } catch {
    return null;
  }
}

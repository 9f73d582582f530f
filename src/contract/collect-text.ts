import { keccak256, stringToHex } from 'viem/utils';
import { addressIn } from './chain-values.ts';

/**
 * The terms to which the nonce of a collecting authorization commits. The signer chooses the salt, and the validity times, which are not
 * among these terms.
 */
export interface CollectTerms {
  /** Address of the market, without a trailing slash. */
  baseUrl: string;
  chainId: bigint;
  listingId: bigint;
  /** Address in upper, lower or mixed case. */
  payer: string;
  /** 32 random bytes: 0x and 64 hex digits in any case. */
  salt: string;
}

/**
 * Returns the text that is hashed into the nonce: six lines in this order, joined by line feeds, without a final line feed, in UTF-8.
 * Address and salt are 0x and lower-case hex digits; numbers are decimal.
 */
export function collectText({ baseUrl, chainId, listingId, payer, salt }: CollectTerms): string {
  const address = addressIn.parse(payer.toLowerCase());
  return ['openaisle collect', baseUrl, chainId, listingId, address, salt.toLowerCase()].join('\n');
}

/** Returns keccak256 of the text. An authorization of value 0 with this nonce moves no money and collects one listing at one market. */
export function collectNonce(terms: CollectTerms): `0x${string}` {
  return keccak256(stringToHex(collectText(terms)));
}

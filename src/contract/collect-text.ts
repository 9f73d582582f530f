import { keccak256, stringToHex } from 'viem/utils';
import { addressIn } from './chain-values.ts';

/** What a collecting authorization is for; nothing else about it is free but its times. */
export interface CollectTerms {
  /** Of the market, without a slash at the end. */
  baseUrl: string;
  chainId: bigint;
  listingId: bigint;
  /** Of any case. */
  payer: string;
  /** 0x and 64 hex digits of any case: 32 bytes of chance. */
  salt: string;
}

/**
 * The text behind the nonce: six lines in this order, joined by line feeds and without one at the end, in UTF-8. Addresses and salt
 * are 0x and lower-case hex digits, numbers are decimal.
 */
export function collectText({ baseUrl, chainId, listingId, payer, salt }: CollectTerms): string {
  const address = addressIn.parse(payer.toLowerCase());
  return ['openaisle collect', baseUrl, chainId, listingId, address, salt.toLowerCase()].join('\n');
}

/** keccak256 of it. An authorization of value 0 with this nonce moves nothing and collects one listing at one market. */
export function collectNonce(terms: CollectTerms): `0x${string}` {
  return keccak256(stringToHex(collectText(terms)));
}

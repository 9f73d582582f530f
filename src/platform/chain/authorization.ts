import { encodeAbiParameters, hashTypedData, keccak256, stringToBytes } from 'viem/utils';
import { AUTHORIZATION_TYPES } from '../../contract/authorization-types.ts';
import type { Hex } from '../hex.ts';

export interface TokenDomain {
  name: string;
  version: string;
  chainId: bigint;
  verifyingContract: Hex;
}

export interface Authorization {
  from: Hex;
  to: Hex;
  value: bigint;
  /** Seconds since 1970; the token wants block time strictly between the two. */
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
}

/** What the payer signed. */
export function authorizationDigest(domain: TokenDomain, authorization: Authorization): Hex {
  return hashTypedData({
    domain,
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  });
}

const DOMAIN_TYPE = 'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)';
const DOMAIN_FIELDS = [
  { type: 'bytes32' },
  { type: 'bytes32' },
  { type: 'bytes32' },
  { type: 'uint256' },
  { type: 'address' },
] as const;

/** To compare with the token's own: equal only if name, version, chain id and address are the expected ones. */
export function domainSeparatorOf(domain: TokenDomain): Hex {
  const hashed = (text: string): Hex => keccak256(stringToBytes(text));
  const { name, version, chainId, verifyingContract } = domain;
  return keccak256(
    encodeAbiParameters(DOMAIN_FIELDS, [
      hashed(DOMAIN_TYPE),
      hashed(name),
      hashed(version),
      chainId,
      verifyingContract,
    ]),
  );
}

import { encodeAbiParameters, hashTypedData, keccak256, stringToBytes } from 'viem/utils';
import { z } from 'zod';
import { AUTHORIZATION_TYPES } from '../../contract/authorization-types.ts';
import { type Hex, isHex } from '../hex.ts';

/** A number in an answer. Leading zeros violate the standard but do no harm, so they are accepted. */
const quantity = z
  .string()
  .regex(/^0x[0-9a-fA-F]{1,64}$/)
  .transform((text) => BigInt(text));
/** Far beyond any real block number, but exact in a database column and in a double, so that no node can cause an overflow. */
const height = quantity.refine((value) => value < 2n ** 53n);
const seconds = quantity.refine((value) => value < 2n ** 42n);
const index = quantity.refine((value) => value < 2n ** 31n).transform(Number);
const data = z
  .string()
  .toLowerCase()
  .pipe(z.custom<Hex>((value) => isHex(value)));
const bytes = (count: number) =>
  z
    .string()
    .toLowerCase()
    .pipe(z.custom<Hex>((value) => isHex(value, count)));
const hash = bytes(32);
const ZERO_HASH = `0x${'0'.repeat(64)}`;
const address = bytes(20);

const block = z.object({
  number: height,
  hash,
  parentHash: hash,
  timestamp: seconds,
  transactions: z.array(hash),
});

const log = z.object({
  address,
  topics: z.array(hash).max(4),
  data,
  blockNumber: height,
  blockHash: hash,
  transactionHash: hash,
  logIndex: index,
  removed: z.boolean().default(false),
});

const receipt = z.object({
  transactionHash: hash,
  blockNumber: height,
  blockHash: hash,
  status: z.enum(['0x0', '0x1']).transform((status) => (status === '0x1' ? 'success' : 'reverted')),
  from: address,
  to: address.nullable().default(null),
  logs: z.array(log),
});

/** Null while no block contains the transaction: it is unknown, pending or preconfirmed. Some nodes send a zero hash instead of null. */
const blockHash = hash.nullable().transform((value) => (value === ZERO_HASH ? null : value));

/** Schemas of the answers that a node may give. They return hex in lower case, and reject any other answer. */
export const shapes = { quantity, data, block, receipt, logs: z.array(log), blockHash };

/** `timestamp` is in seconds; `transactions` are hashes. */
export type Block = z.output<typeof block>;
export type Log = z.output<typeof log>;
export type Receipt = z.output<typeof receipt>;

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
  /** Seconds since 1970. The token requires validAfter < block time < validBefore. */
  validAfter: bigint;
  validBefore: bigint;
  nonce: Hex;
}

/** Returns the hash that the payer signed. */
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

/** Compare the result with the token's own value. They are equal only if name, version, chain id and address match. */
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

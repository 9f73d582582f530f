import { bytesToHex, type Hex } from 'viem';
import { AUTHORIZATION_TYPES } from '../../contract/authorization-types.ts';
import { NETWORKS } from '../../contract/vocabulary.ts';
import type { Environment } from '../environment.ts';
import type { ExpectedPayment } from './choose-offer.ts';
import type { X402Version } from './payment-required.ts';

export interface Authorization {
  from: Hex;
  to: Hex;
  /** Units of USDC: 1 USDC is 1_000_000n. */
  value: bigint;
  /** Seconds since 1970; the token wants the block's time strictly between the two. */
  validAfter: bigint;
  validBefore: bigint;
  /** 32 random bytes. */
  nonce: Hex;
}

export interface AuthorizationToSign {
  domain: { name: string; version: string; chainId: bigint; verifyingContract: Hex };
  types: typeof AUTHORIZATION_TYPES;
  primaryType: 'TransferWithAuthorization';
  message: Authorization;
}

/** A signer of typed data; any viem `LocalAccount` is one. */
export interface Wallet {
  readonly address: Hex;
  signTypedData(typed: AuthorizationToSign): Promise<Hex>;
}

export interface SignedAuthorization {
  authorization: Authorization;
  signature: Hex;
}

/** v1 clients date back ten minutes against clocks that differ; v2 clients leave the beginning open. */
const V1_BACKDATE_SECONDS = 600n;

/** Signs one transfer of exactly the expected payment, good from now for `windowSeconds`. Each call makes another payment possible, but for one of nothing. */
export async function signAuthorization(
  wallet: Wallet,
  payment: ExpectedPayment,
  terms: { x402Version: X402Version; windowSeconds: number; nonce?: Hex },
  environment: Pick<Environment, 'now' | 'randomBytes'>,
): Promise<SignedAuthorization> {
  const network = NETWORKS[payment.network];
  const nowSeconds = BigInt(Math.floor(environment.now() / 1000));
  const authorization: Authorization = {
    from: wallet.address,
    to: payment.payee,
    value: payment.amountUnits,
    validAfter: terms.x402Version === 1 ? nowSeconds - V1_BACKDATE_SECONDS : 0n,
    validBefore: nowSeconds + BigInt(terms.windowSeconds),
    nonce: terms.nonce ?? bytesToHex(environment.randomBytes(32)),
  };
  const signature = await wallet.signTypedData({
    domain: {
      name: network.domainName,
      version: network.domainVersion,
      chainId: network.chainId,
      verifyingContract: network.usdc,
    },
    types: AUTHORIZATION_TYPES,
    primaryType: 'TransferWithAuthorization',
    message: authorization,
  });
  return { authorization, signature };
}

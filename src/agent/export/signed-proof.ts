import { type Hex, isAddressEqual, recoverTypedDataAddress } from 'viem';
import { z } from 'zod';
import { AUTHORIZATION_TYPES } from '../../contract/authorization-types.ts';
import { NETWORKS } from '../../contract/vocabulary.ts';
import type { SpendRecord } from '../spend-record.ts';

const address = z.string().regex(/^0x[0-9a-fA-F]{40}$/);
const number = z.string().regex(/^\d{1,20}$/);
/** Payment header of either x402 version. */
const header = z.object({
  payload: z.object({
    signature: z.string().regex(/^0x[0-9a-fA-F]{130}$/),
    authorization: z.object({
      from: address,
      to: address,
      value: number,
      validAfter: number,
      validBefore: number,
      nonce: z.string().regex(/^0x[0-9a-fA-F]{64}$/),
    }),
  }),
});

/**
 * Bounds on a proof's expiry, counted from its record's time. The proof was signed on that day for at most ten minutes, and clocks
 * differ by at most 15 minutes.
 */
const MIN_SECONDS = -900;
const MAX_SECONDS = 86_400 + 900 + 600;

/** Whether the wallet signed the saved proof for the record's sum, payee and day. */
export async function isSignedProof(
  { saved, payee, amount_units, network, reserved_at }: SpendRecord,
  wallet: Hex,
): Promise<boolean> {
  if (saved === null) return false;
  const read = header.safeParse(parse(saved.proof.header.value));
  if (!read.success) return false;
  const { signature, authorization } = read.data.payload;
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  const isSame =
    isAddressEqual(from as Hex, wallet) &&
    to.toLowerCase() === payee.toLowerCase() &&
    value === amount_units &&
    validBefore === String(saved.proof.valid_before) &&
    nonce.toLowerCase() === saved.proof.nonce.toLowerCase();
  // A used proof is public, so a forger could present an old one as today's.
  const lasts = saved.proof.valid_before - Date.parse(reserved_at) / 1_000;
  if (!isSame || lasts < MIN_SECONDS || lasts > MAX_SECONDS) return false;
  const { chainId, usdc: verifyingContract, domainName: name, domainVersion: version } = NETWORKS[network];
  const message = { from: from as Hex, to: to as Hex, nonce: nonce as Hex };
  const numbers = { value: BigInt(value), validAfter: BigInt(validAfter), validBefore: BigInt(validBefore) };
  try {
    const signer = await recoverTypedDataAddress({
      domain: { name, version, chainId, verifyingContract },
      types: AUTHORIZATION_TYPES,
      primaryType: 'TransferWithAuthorization',
      message: { ...message, ...numbers },
      signature: signature as Hex,
    });
    return isAddressEqual(signer, wallet);
  } catch {
    // The signature isn't a point on the curve.
    return false;
  }
}

function parse(value: string): unknown {
  try {
    return JSON.parse(Buffer.from(value, 'base64').toString('utf8'));
  } catch {
    return null;
  }
}

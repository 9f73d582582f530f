import { NETWORKS } from '../src/contract/vocabulary.ts';
import type { TestAccount } from '../src/local/chain/accounts.ts';
import type { Authorization } from '../src/platform/chain/shapes.ts';
import { systemClock } from '../src/platform/clock.ts';
import { type Hex, toHex } from '../src/platform/hex.ts';
import { systemRandom } from '../src/platform/random.ts';

/** Almost the longest validity that a market accepts, because proofs are signed some time before use. */
const SECONDS_AHEAD = 590;
/** The timeout in both sellers' payment terms. */
export const X402_TIMEOUT_SECONDS = 120;

export function makeAuthorization(payer: TestAccount, payee: Hex, units: bigint): Authorization {
  return {
    from: payer.address,
    to: payee,
    value: units,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(systemClock.now() / 1_000) + SECONDS_AHEAD),
    nonce: toHex(systemRandom.bytes(32)),
  };
}

/** Builds the x402 header of that version. */
export function proofHeader(version: 1 | 2, authorization: Authorization, signature: Hex): Record<string, string> {
  const { name, caip2, usdc, domainName, domainVersion } = NETWORKS.base;
  const { value, validAfter, validBefore, ...rest } = authorization;
  const numbers = { value: String(value), validAfter: String(validAfter), validBefore: String(validBefore) };
  const payload = { signature, authorization: { ...rest, ...numbers } };
  if (version === 1) return { 'x-payment': encode({ x402Version: 1, scheme: 'exact', network: name, payload }) };
  const accepted = {
    scheme: 'exact',
    network: caip2,
    amount: numbers.value,
    asset: usdc,
    payTo: rest.to,
    maxTimeoutSeconds: X402_TIMEOUT_SECONDS,
    extra: { name: domainName, version: domainVersion },
  };
  return { 'payment-signature': encode({ x402Version: 2, accepted, payload }) };
}

function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64');
}

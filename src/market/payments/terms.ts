import { MAX_TIMEOUT_SECONDS, type Network, type PaymentPurpose } from '../../contract/vocabulary.ts';
import type { Authorization } from '../../platform/chain/shapes.ts';
import type { Hex } from '../../platform/hex.ts';

export interface Terms {
  purpose: PaymentPurpose;
  payee: Hex;
  valueUnits: bigint;
  /** Absolute URL of the paid request. A v2 proof that names another URL is refused. */
  resource: string;
  description: string;
}

/** A well-formed payment proof of either version. Anyone who has its signature can submit the transfer, so never store or log it. */
export interface Proof {
  version: 1 | 2;
  authorization: Authorization;
  signature: Hex;
  /** As the client gave it; checked against the terms. The same holds for the fields below. */
  network: string;
  scheme: string;
  /** Null in v1, like the fields below. */
  asset: string | null;
  payTo: string | null;
  amount: string | null;
  resourceUrl: string | null;
}

/** Builds the v2 requirement for the terms. Facilitators get it whichever version the client used. */
export function requirementOf(terms: Terms, network: Network, checksummed: (address: Hex) => string) {
  return {
    scheme: 'exact',
    network: network.caip2,
    amount: terms.valueUnits.toString(),
    asset: checksummed(network.usdc),
    payTo: checksummed(terms.payee),
    maxTimeoutSeconds: MAX_TIMEOUT_SECONDS,
    extra: { name: network.domainName, version: network.domainVersion },
  };
}

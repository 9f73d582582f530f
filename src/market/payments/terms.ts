import { MAX_TIMEOUT_SECONDS, type Network, type PaymentPurpose } from '../../contract/vocabulary.ts';
import type { Authorization } from '../../platform/chain/shapes.ts';
import type { Hex } from '../../platform/hex.ts';

export interface Terms {
  purpose: PaymentPurpose;
  payee: Hex;
  valueUnits: bigint;
  /** Absolute URL of the paid request; a v2 proof that names another URL is refused. */
  resource: string;
  description: string;
}

/** A payment proof whose shape was checked, v1 and v2 alike. Its signature is a live cheque: never store or log it. */
export interface Proof {
  version: 1 | 2;
  authorization: Authorization;
  signature: Hex;
  /** As the client named them; checked against the terms. */
  network: string;
  scheme: string;
  /** v2 only. */
  asset: string | null;
  payTo: string | null;
  amount: string | null;
  resourceUrl: string | null;
}

/** The v2 requirement for the terms. Facilitators get it whichever version the client spoke. */
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

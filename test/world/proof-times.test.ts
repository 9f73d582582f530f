import { describe, expect, it } from 'vitest';
import { NETWORKS } from '../../src/contract/vocabulary.ts';
import { WORLD_ACCOUNTS } from '../../src/local/chain/accounts.ts';
import { findFault } from '../../src/market/payments/paths/x402/check-proof.ts';
import type { Proof, Terms } from '../../src/market/payments/terms.ts';

// Tests to the second which validity times an authorization may have. Calls the check directly, since no HTTP request could hit the exact
// second.

const NOW = 1_790_000_000;
const MIN_AHEAD = 20;
const MAX_AHEAD = 600;
const { sellerOne, stranger } = WORLD_ACCOUNTS;
const terms: Terms = {
  purpose: 'purchase',
  payee: sellerOne.address,
  valueUnits: 2_500_000n,
  resource: 'http://127.0.0.1:4020/api/buy/1',
  description: 'Listing 1',
};

function faultOf(times: { validAfter?: number; validBefore?: number }, milliseconds = 0): string | null {
  const proof: Proof = {
    version: 1,
    scheme: 'exact',
    network: NETWORKS.base.name,
    asset: null,
    payTo: null,
    amount: null,
    resourceUrl: null,
    signature: '0x',
    authorization: {
      from: stranger.address,
      to: terms.payee,
      value: terms.valueUnits,
      validAfter: BigInt(times.validAfter ?? 0),
      validBefore: BigInt(times.validBefore ?? NOW + 120),
      nonce: `0x${'01'.repeat(32)}`,
    },
  };
  return findFault(proof, terms, NETWORKS.base, NOW * 1000 + milliseconds);
}

describe('an authorization', () => {
  it('begins in the second that it names, and not before', () => {
    expect(faultOf({ validAfter: NOW })).toBeNull();
    expect(faultOf({ validAfter: NOW + 1 })).toEqual(expect.stringMatching(/not valid yet/));
    expect(faultOf({ validAfter: NOW + 1 }, 999)).toEqual(expect.stringMatching(/not valid yet/));
  });

  it('has the least time left that a settlement needs, or has expired', () => {
    expect(faultOf({ validBefore: NOW + MIN_AHEAD })).toBeNull();
    expect(faultOf({ validBefore: NOW + MIN_AHEAD - 1 })).toEqual(expect.stringMatching(/expired/));
  });

  it('ends before anybody has forgotten it', () => {
    expect(faultOf({ validBefore: NOW + MAX_AHEAD })).toBeNull();
    expect(faultOf({ validBefore: NOW + MAX_AHEAD + 1 })).toEqual(expect.stringMatching(/at most/));
  });
});

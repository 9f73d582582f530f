import { collectNonce } from '../../src/contract/collect-text.ts';
import type { TestAccount } from '../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../src/local/chain/start-chain.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Hex, toHex } from '../../src/platform/hex.ts';
import { systemRandom } from '../../src/platform/random.ts';
import { signAuthorization } from './chain.ts';
import { BASE_URL, wrapProof } from './market-world.ts';
import type { Goods } from './trade.ts';

export interface CollectChange {
  baseUrl?: string;
  chainId?: bigint;
  listingId?: bigint;
  payer?: string;
  value?: bigint;
  signer?: TestAccount;
}

/** A collecting signature, and the salt behind it. */
export async function signCollecting(
  chain: LocalChain,
  { id, terms }: { id: bigint; terms: Pick<Goods['terms'], 'payTo' | 'resource'> },
  { payer, signer }: { payer: Hex; signer: TestAccount },
  change: CollectChange = {},
) {
  const salt = toHex(systemRandom.bytes(32));
  const nonce = collectNonce({
    baseUrl: change.baseUrl ?? BASE_URL,
    chainId: change.chainId ?? 8453n,
    listingId: change.listingId ?? id,
    payer: change.payer ?? payer,
    salt,
  });
  const authorization = {
    from: payer,
    to: terms.payTo,
    value: change.value ?? 0n,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(systemClock.now() / 1000) + 120),
    nonce,
  };
  const signature = await signAuthorization(chain, signer, authorization);
  const { v1, v2 } = wrapProof(authorization, signature, { ...terms, units: authorization.value });
  return { v1, v2, salt, authorization, signature, body: { collect: true, collect_salt: salt } };
}

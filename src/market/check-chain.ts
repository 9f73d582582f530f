import { USDC_DECIMALS } from '../contract/vocabulary.ts';
import { domainSeparatorOf } from '../platform/chain/authorization.ts';
import { readChainId } from '../platform/chain/reads.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import { readDecimals, readDomainSeparator } from '../platform/chain/usdc-reads.ts';
import type { Market } from './context.ts';

/** A market on the wrong chain, or with another token, would believe payments that are none. */
export async function checkChain(market: Market): Promise<void> {
  try {
    await checkNetwork(market);
  } catch (error) {
    // Reads must be served while the chain is away; each payment asks for the chain id again before it is decided.
    if (!(error instanceof RpcFailure)) throw error;
    market.log.warn('chain_unreadable_at_start', { error });
  }
}

async function checkNetwork({ rpc, config }: Market): Promise<void> {
  const { network } = config;
  const chainId = await readChainId(rpc);
  if (chainId !== network.chainId) {
    throw new Error(`OPENAISLE_RPC_URLS: the node is on chain ${chainId}, not on ${network.chainId} (${network.name})`);
  }
  const [decimals, separator] = await Promise.all([
    readDecimals(rpc, network.usdc),
    readDomainSeparator(rpc, network.usdc),
  ]);
  const wanted = domainSeparatorOf({
    name: network.domainName,
    version: network.domainVersion,
    chainId: network.chainId,
    verifyingContract: network.usdc,
  });
  if (decimals !== USDC_DECIMALS || separator !== wanted) {
    throw new Error('OPENAISLE_USDC_ADDRESS: the contract there is not the native USDC of the network');
  }
}

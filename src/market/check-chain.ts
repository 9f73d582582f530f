import { USDC_DECIMALS } from '../contract/vocabulary.ts';
import { domainSeparatorOf } from '../platform/chain/authorization.ts';
import type { Provider } from '../platform/chain/provider.ts';
import { readChainId } from '../platform/chain/reads.ts';
import { RpcFailure } from '../platform/chain/rpc.ts';
import { readDecimals, readDomainSeparator } from '../platform/chain/usdc-reads.ts';
import type { Market } from './context.ts';

type Needs = Pick<Market, 'providers' | 'config' | 'log'>;

/** A market on the wrong chain, or with another token, would believe payments that are none. */
export async function checkChain(market: Needs): Promise<void> {
  await Promise.all(
    market.providers.map(async (provider) => {
      try {
        await checkNetwork(market, provider);
      } catch (error) {
        // Reads must be served while the chain is away; each payment asks for the chain id again before it is decided.
        if (!(error instanceof RpcFailure)) throw error;
        market.log.warn('chain_unreadable_at_start', { endpoint: provider.endpoint, error });
      }
    }),
  );
}

async function checkNetwork({ config, providers }: Needs, provider: Provider): Promise<void> {
  const { network } = config;
  // Its place says which one: the address may hold a key.
  const name = providers.length === 1 ? 'the node' : `node ${provider.number}`;
  const chainId = await readChainId(provider);
  if (chainId !== network.chainId) {
    throw new Error(`OPENAISLE_RPC_URLS: ${name} is on chain ${chainId}, not on ${network.chainId} (${network.name})`);
  }
  const [decimals, separator] = await Promise.all([
    readDecimals(provider, network.usdc),
    readDomainSeparator(provider, network.usdc),
  ]);
  const wanted = domainSeparatorOf({
    name: network.domainName,
    version: network.domainVersion,
    chainId: network.chainId,
    verifyingContract: network.usdc,
  });
  if (decimals !== USDC_DECIMALS || separator !== wanted) {
    throw new Error(
      `OPENAISLE_USDC_ADDRESS: the contract there is not the native USDC of the network, as ${name} shows it`,
    );
  }
}

import { type Network, USDC_DECIMALS } from '../../contract/vocabulary.ts';
import type { Log } from '../log.ts';
import { domainSeparatorOf } from './authorization.ts';
import type { Provider } from './provider.ts';
import { readChainId } from './reads.ts';
import { RpcFailure } from './rpc.ts';
import { readDecimals, readDomainSeparator } from './usdc-reads.ts';

interface Needs {
  providers: readonly Provider[];
  network: Network;
  log: Log;
  /** What the variables are called that the operator has to mend. */
  variables: { rpcUrls: string; usdc: string };
}

/** A server on the wrong chain, or with another token, would believe payments that are none. */
export async function checkNetworks(needs: Needs): Promise<void> {
  await Promise.all(
    needs.providers.map(async (provider) => {
      try {
        await checkNetwork(needs, provider);
      } catch (error) {
        // Reads must be served while the chain is away; each payment asks for the chain id again before it is decided.
        if (!(error instanceof RpcFailure)) throw error;
        needs.log.warn('chain_unreadable_at_start', { endpoint: provider.endpoint, error });
      }
    }),
  );
}

async function checkNetwork({ network, providers, variables }: Needs, provider: Provider): Promise<void> {
  // Its place says which one: the address may hold a key.
  const name = providers.length === 1 ? 'the node' : `node ${provider.number}`;
  const chainId = await readChainId(provider);
  if (chainId !== network.chainId) {
    throw new Error(
      `${variables.rpcUrls}: ${name} is on chain ${chainId}, not on ${network.chainId} (${network.name})`,
    );
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
    throw new Error(`${variables.usdc}: the contract there is not the native USDC of the network, as ${name} shows it`);
  }
}

import { NETWORKS, type Network } from '../../contract/vocabulary.ts';
import { askWallet, type Provider, WalletTrouble } from './provider.ts';

export type Address = `0x${string}`;

export interface Connected {
  provider: Provider;
  address: Address;
}

/** The account that the person allows, on the right network. With a wanted one, no other will do. */
export async function connectWallet(
  provider: Provider,
  network: Network['name'],
  wanted: string | null,
): Promise<Connected> {
  const accounts = readAccounts(await askWallet(provider, 'eth_requestAccounts'));
  const address = accounts.find((account) => wanted === null || account === wanted.toLowerCase());
  if (address === undefined) throw new WalletTrouble('wrong_account', wanted ?? 'the wallet shows no account');
  await reachNetwork(provider, network);
  return { provider, address };
}

/** Asks the wallet to change where it is elsewhere. */
export async function reachNetwork(provider: Provider, network: Network['name']): Promise<void> {
  const { chainId, displayName } = NETWORKS[network];
  if ((await chainOf(provider)) === chainId) return;
  const wanted = `0x${chainId.toString(16)}`;
  try {
    await askWallet(provider, 'wallet_switchEthereumChain', [{ chainId: wanted }]);
  } catch (cause) {
    if (cause instanceof WalletTrouble && cause.why === 'refused') throw cause;
    throw new WalletTrouble('wrong_chain', `it cannot change to ${displayName}`, { cause });
  }
  if ((await chainOf(provider)) !== chainId) throw new WalletTrouble('wrong_chain', 'it stayed where it was');
}

/** Still the same account and network as when the message was made. */
export async function mustBeSame({ provider, address }: Connected, network: Network['name']): Promise<void> {
  const accounts = readAccounts(await askWallet(provider, 'eth_accounts'));
  if (!accounts.includes(address)) throw new WalletTrouble('account_changed');
  if ((await chainOf(provider)) !== NETWORKS[network].chainId) await reachNetwork(provider, network);
}

async function chainOf(provider: Provider): Promise<bigint | null> {
  const said = await askWallet(provider, 'eth_chainId');
  return typeof said === 'string' && /^0x[0-9a-f]{1,16}$/i.test(said) ? BigInt(said) : null;
}

export function readAccounts(said: unknown): Address[] {
  if (!Array.isArray(said)) return [];
  return said.filter((one): one is Address => typeof one === 'string' && /^0x[0-9a-fA-F]{40}$/.test(one)).map(lowered);
}

function lowered(address: Address): Address {
  return address.toLowerCase() as Address;
}

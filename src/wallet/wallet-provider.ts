import { NETWORKS, type Network } from '../contract/vocabulary.ts';
import type { Offer } from './offer.ts';
import { formatAmount } from './wording.ts';

/** The part of EIP-1193 that is used. */
export interface Provider {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>;
  on?(event: string, listener: (data: unknown) => void): void;
  removeListener?(event: string, listener: (data: unknown) => void): void;
}

export function isProvider(value: unknown): value is Provider {
  return typeof value === 'object' && value !== null && 'request' in value && typeof value.request === 'function';
}

export type WalletFailure =
  | 'refused'
  | 'busy'
  | 'not_allowed'
  | 'disconnected'
  | 'wrong_account'
  | 'wrong_chain'
  | 'account_changed'
  | 'stopped'
  | 'too_late'
  | 'unusable';

/** Thrown if the wallet refused or failed. Nothing that it returned was sent anywhere. */
export class WalletTrouble extends Error {
  override readonly name = 'WalletTrouble';
  readonly why: WalletFailure;

  constructor(why: WalletFailure, detail: string = why, options: ErrorOptions = {}) {
    super(detail, options);
    this.why = why;
  }
}

const REASONS_BY_CODE: Readonly<Record<number, WalletFailure>> = {
  4001: 'refused',
  4100: 'not_allowed',
  4900: 'disconnected',
  4901: 'disconnected',
  [-32_002]: 'busy',
};

/** Calls the wallet. Its errors become `WalletTrouble`. */
export async function askWallet(provider: Provider, method: string, params: readonly unknown[] = []): Promise<unknown> {
  try {
    return await provider.request({ method, params });
  } catch (cause) {
    throw new WalletTrouble(REASONS_BY_CODE[codeOf(cause) ?? 0] ?? 'unusable', messageOf(cause), { cause });
  }
}

function codeOf(error: unknown): number | null {
  if (typeof error !== 'object' || error === null || !('code' in error)) return null;
  return typeof error.code === 'number' ? error.code : null;
}

const LONGEST_WORDS = 200;

function messageOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return '';
  return typeof error.message === 'string' ? error.message.slice(0, LONGEST_WORDS) : '';
}

export type Address = `0x${string}`;

export interface Connected {
  provider: Provider;
  address: Address;
}

/** Connects an account that the user allows, on the right network. If `wanted` is set, accepts no other account. */
export async function connectWallet(
  provider: Provider,
  network: Network['name'],
  wanted: string | null,
): Promise<Connected> {
  const accounts = readAccounts(await askWallet(provider, 'eth_requestAccounts'));
  const address = accounts.find((account) => wanted === null || account === wanted.toLowerCase());
  if (address === undefined) throw new WalletTrouble('wrong_account', wanted ?? 'the wallet shows no account');
  await switchNetwork(provider, network);
  return { provider, address };
}

/** Asks the wallet to switch if it is on another network. */
async function switchNetwork(provider: Provider, network: Network['name']): Promise<void> {
  const { chainId, displayName } = NETWORKS[network];
  if ((await readChainId(provider)) === chainId) return;
  const wanted = `0x${chainId.toString(16)}`;
  try {
    await askWallet(provider, 'wallet_switchEthereumChain', [{ chainId: wanted }]);
  } catch (cause) {
    if (cause instanceof WalletTrouble && cause.why === 'refused') throw cause;
    throw new WalletTrouble('wrong_chain', `it cannot change to ${displayName}`, { cause });
  }
  if ((await readChainId(provider)) !== chainId) throw new WalletTrouble('wrong_chain', 'it stayed where it was');
}

/** Checks that the message's account is still connected, and switches the network back if it changed. */
export async function mustBeSame({ provider, address }: Connected, network: Network['name']): Promise<void> {
  const accounts = readAccounts(await askWallet(provider, 'eth_accounts'));
  if (!accounts.includes(address)) throw new WalletTrouble('account_changed');
  if ((await readChainId(provider)) !== NETWORKS[network].chainId) await switchNetwork(provider, network);
}

async function readChainId(provider: Provider): Promise<bigint | null> {
  const answer = await askWallet(provider, 'eth_chainId');
  return typeof answer === 'string' && /^0x[0-9a-f]{1,16}$/i.test(answer) ? BigInt(answer) : null;
}

export function readAccounts(answer: unknown): Address[] {
  if (!Array.isArray(answer)) return [];
  return answer
    .filter((one): one is Address => typeof one === 'string' && /^0x[0-9a-fA-F]{40}$/.test(one))
    .map((one) => one.toLowerCase() as Address);
}

/** Thrown if the wallet holds less than the price. Nothing was signed. */
export class InsufficientBalance extends Error {
  override readonly name = 'InsufficientBalance';
}

const BALANCE_OF = '0x70a08231';

/** Reads the USDC balance through the wallet. Null if it cannot be read. */
async function readBalance({ provider, address }: Connected, { usdc }: Offer): Promise<bigint | null> {
  const data = `${BALANCE_OF}${address.slice(2).toLowerCase().padStart(64, '0')}`;
  try {
    const answer = await provider.request({ method: 'eth_call', params: [{ to: usdc, data }, 'latest'] });
    return typeof answer === 'string' && /^0x[0-9a-fA-F]{64}$/.test(answer) ? BigInt(answer) : null;
  } catch {
    return null;
  }
}

/** Throws `InsufficientBalance` if the balance is below the price. The market checks again, on the chain. */
export async function mustHaveBalance(connected: Connected, offer: Offer): Promise<void> {
  const balance = await readBalance(connected, offer);
  if (balance === null || balance >= offer.units) return;
  throw new InsufficientBalance(
    `This wallet holds ${formatAmount(balance)}, and the price is ${formatAmount(offer.units)}`,
  );
}

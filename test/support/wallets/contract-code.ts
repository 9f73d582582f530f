import { createRequire } from 'node:module';
import { ERC1967Proxy } from '@metamask/delegation-abis/bytecode';
import { type AbiParameter, encodeAbiParameters } from 'viem';
import { WORLD_ACCOUNTS } from '../../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../../src/local/chain/start-chain.ts';
import { send } from '../../../src/local/chain/transactions.ts';
import { type Hex, isHex } from '../../../src/platform/hex.ts';

/** Paths of compiled contracts in public packages, unmodified. */
const ARTIFACTS = {
  Safe: '@safe-global/safe-smart-account/build/artifacts/contracts/Safe.sol/Safe.json',
  SafeProxyFactory:
    '@safe-global/safe-smart-account/build/artifacts/contracts/proxies/SafeProxyFactory.sol/SafeProxyFactory.json',
  CompatibilityFallbackHandler:
    '@safe-global/safe-smart-account/build/artifacts/contracts/handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler.json',
  SimpleAccount: '@account-abstraction/contracts/artifacts/SimpleAccount.json',
  Simple7702Account: '@account-abstraction/contracts/artifacts/Simple7702Account.json',
} as const;

type ContractName = keyof typeof ARTIFACTS | 'ERC1967Proxy';

const require = createRequire(import.meta.url);

function bytecodeOf(name: ContractName): Hex {
  if (name === 'ERC1967Proxy') return ERC1967Proxy;
  const { bytecode } = require(ARTIFACTS[name]) as { bytecode: Hex };
  return bytecode;
}

/** Enough gas to deploy a contract of the maximum size. */
export const DEPLOY_GAS = 8_000_000n;

export async function deployCode(chain: LocalChain, data: Hex): Promise<Hex> {
  const receipt = await send(chain, WORLD_ACCOUNTS.stranger, { data }, DEPLOY_GAS);
  const made = await chain.rpc.call('eth_getTransactionReceipt', [receipt.transactionHash]);
  const { contractAddress } = made as { contractAddress: string | null };
  const address = contractAddress?.toLowerCase();
  if (receipt.status !== 'success' || !isHex(address, 20)) throw new Error('the contract was not deployed');
  return address;
}

const deployed = new WeakMap<LocalChain, Map<ContractName, Promise<Hex>>>();

/** Deploys the contract once per chain. Later calls return that address and ignore their arguments. */
export function singleton(chain: LocalChain, name: ContractName, args: readonly [AbiParameter, unknown][] = []) {
  const before = deployed.get(chain) ?? new Map<ContractName, Promise<Hex>>();
  deployed.set(chain, before);
  const known = before.get(name) ?? deployCode(chain, creationCode(name, args));
  before.set(name, known);
  return known;
}

export function creationCode(name: ContractName, args: readonly [AbiParameter, unknown][]): Hex {
  const encoded = encodeAbiParameters(
    args.map(([type]) => type),
    args.map(([, value]) => value),
  );
  return `0x${bytecodeOf(name).slice(2)}${encoded.slice(2)}`;
}

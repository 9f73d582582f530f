import { encodeFunctionData, keccak256, pad, parseAbi } from 'viem';
import { type TestAccount, testAccount, USDC_ADDRESS, usdcWriteAbi } from '../../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../../src/local/chain/start-chain.ts';
import { fund, send } from '../../../src/local/chain/transactions.ts';
import type { Hex } from '../../../src/platform/hex.ts';
import { creationCode, deployCode, singleton } from './contract-code.ts';

const GAS_WEI = 10n ** 18n;
const ENTRY_POINT: Hex = '0x4337084d9e255ff0702461cf8895ce9e3b5ff108';
const abi = parseAbi([
  'function initialize(address owner)',
  'function execute(address target, uint256 value, bytes data)',
]);
const MAGIC = `1626ba7e${'0'.repeat(56)}`;

let made = 0;

/** A wallet with code, for which only its owner's key can sign. */
export interface OwnedWallet {
  address: Hex;
  owner: TestAccount;
  /** Resolves with the transaction's hash once it is mined. */
  transfer(to: string, units: bigint): Promise<Hex>;
}

/** Creates an original SimpleAccount behind its proxy (ERC-4337), which does not implement EIP-1271. */
export async function createSimpleAccount(chain: LocalChain, usdcUnits: bigint): Promise<OwnedWallet> {
  made += 1;
  const owner = testAccount(`owner of simple account ${made}`);
  const implementation = await simpleAccount(chain);
  const setup = encodeFunctionData({ abi, functionName: 'initialize', args: [owner.address] });
  const proxy = creationCode('ERC1967Proxy', [
    [{ type: 'address' }, implementation],
    [{ type: 'bytes' }, setup],
  ]);
  const address = await deployCode(chain, proxy);
  await fund(chain, [
    { address: owner.address, wei: GAS_WEI },
    { address, usdcUnits },
  ]);
  return {
    address,
    owner,
    transfer: async (to, units) => {
      const args = [to.toLowerCase() as Hex, units] as const;
      const inner = encodeFunctionData({ abi: usdcWriteAbi, functionName: 'transfer', args });
      const data = encodeFunctionData({ abi, functionName: 'execute', args: [USDC_ADDRESS, 0n, inner] });
      const { status, transactionHash } = await send(chain, owner, { to: address, data });
      if (status !== 'success') throw new Error('the account did not transfer');
      return transactionHash;
    },
  };
}

function simpleAccount(chain: LocalChain): Promise<Hex> {
  return singleton(chain, 'SimpleAccount', [[{ type: 'address' }, ENTRY_POINT]]);
}

/** `mute` has no isValidSignature. `plain` accepts the key's signature. `wraps` accepts the key's signature over hash and address. */
export type DelegateKind = 'mute' | 'plain' | 'wraps';

/** Bytecode of isValidSignature: ecrecover(keccak256(hash, this), v, r, s) == this. */
const WRAPPING_CODE: Hex = `0x${[
  '600435600052306020526040600020600052',
  '60a43560f81c602052606435604052608435606052',
  '602060806080600060015afa50',
  `60805130147f${MAGIC}0260005260206000f3`,
].join('')}`;

/** Deploys a contract that a key's account can delegate to. */
export async function deployDelegate(chain: LocalChain, kind: DelegateKind): Promise<Hex> {
  if (kind === 'mute') return await simpleAccount(chain);
  if (kind === 'plain') return await singleton(chain, 'Simple7702Account');
  const size = (WRAPPING_CODE.length / 2 - 1).toString(16).padStart(4, '0');
  return await deployCode(chain, `0x61${size}80600c6000396000f3${WRAPPING_CODE.slice(2)}`);
}

/** Delegates a key's account to a contract (EIP-7702). USDC then asks that contract to check signatures. */
export async function delegateTo(chain: LocalChain, { address }: TestAccount, delegate: Hex): Promise<void> {
  await chain.rpc.call('anvil_setCode', [address, `0xef0100${delegate.slice(2)}`]);
}

/** Signs in the form that the wrapping delegate accepts. */
export function signWrapped(account: TestAccount, digest: Hex): Promise<Hex> {
  const hash = keccak256(`0x${digest.slice(2)}${pad(account.address, { size: 32 }).slice(2)}`);
  return account.signer.sign({ hash });
}

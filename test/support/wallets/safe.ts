import {
  concatHex,
  decodeAbiParameters,
  encodeAbiParameters,
  encodeFunctionData,
  encodePacked,
  getContractAddress,
  keccak256,
  parseAbi,
  parseAbiParameters,
} from 'viem';
import { type TestAccount, testAccount, USDC_ADDRESS, usdcWriteAbi } from '../../../src/local/chain/accounts.ts';
import type { LocalChain } from '../../../src/local/chain/start-chain.ts';
import { fund, send } from '../../../src/local/chain/transactions.ts';
import { type Hex, isHex, ZERO_ADDRESS } from '../../../src/platform/hex.ts';
import { DEPLOY_GAS, singleton } from './contract-code.ts';

const abi = parseAbi([
  'function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver)',
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) returns (bool)',
  'function nonce() view returns (uint256)',
  'function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address)',
  'function proxyCreationCode() pure returns (bytes)',
]);
const GAS_WEI = 10n ** 18n;
const SAFE_TX = [
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'data', type: 'bytes' },
  { name: 'operation', type: 'uint8' },
  { name: 'safeTxGas', type: 'uint256' },
  { name: 'baseGas', type: 'uint256' },
  { name: 'gasPrice', type: 'uint256' },
  { name: 'gasToken', type: 'address' },
  { name: 'refundReceiver', type: 'address' },
  { name: 'nonce', type: 'uint256' },
] as const;

/** A contract wallet that accepts its owners' signatures (EIP-1271). */
export interface SigningWallet {
  address: Hex;
  sign(digest: Hex): Promise<Hex>;
  /** Resolves with the transaction's hash once it is mined. */
  transfer(to: string, units: bigint): Promise<Hex>;
}

export interface SafeWallet extends SigningWallet {
  /** Deploys the wallet. Its address is known before. */
  deploy(): Promise<void>;
  /** Wraps a signature for use before the wallet is deployed (ERC-6492). */
  wrap(signature: Hex): Hex;
}

let made = 0;

/** Prepares a Safe with the handler for EIP-1271, but does not deploy it. */
export async function createSafe(
  chain: LocalChain,
  { owners: count, threshold, usdcUnits }: { owners: number; threshold: number; usdcUnits: bigint },
): Promise<SafeWallet> {
  made += 1;
  const owners = Array.from({ length: count }, (_, at) => testAccount(`owner ${at} of safe ${made}`));
  const signers = owners.slice(0, threshold).toSorted((a, b) => (a.address < b.address ? -1 : 1));
  const [first] = signers;
  if (first === undefined) throw new TypeError('a Safe has owners');
  const places = await placesOf(chain);
  const addresses = owners.map(({ address }) => address);
  const noone = [ZERO_ADDRESS, 0n, ZERO_ADDRESS] as const;
  const setup = [addresses, BigInt(threshold), ZERO_ADDRESS, '0x', places.handler, ...noone] as const;
  const initializer = encodeFunctionData({ abi, functionName: 'setup', args: setup });
  const args = [places.safe, initializer, BigInt(made)] as const;
  const deployment = encodeFunctionData({ abi, functionName: 'createProxyWithNonce', args });
  const address = addressOf(places, initializer, BigInt(made));
  await fund(chain, [
    { address: first.address, wei: GAS_WEI },
    { address, usdcUnits },
  ]);
  const domain = { chainId: chain.chainId, verifyingContract: address };
  const signAll = async (signOne: (owner: TestAccount) => Promise<Hex>): Promise<Hex> =>
    concatHex(await Promise.all(signers.map(signOne)));
  return {
    address,
    sign: (digest) =>
      signAll((owner) =>
        owner.signer.signTypedData({
          domain,
          types: { SafeMessage: [{ name: 'message', type: 'bytes' }] },
          primaryType: 'SafeMessage',
          message: { message: digest },
        }),
      ),
    transfer: async (to, units) => {
      const data = encodeFunctionData({
        abi: usdcWriteAbi,
        functionName: 'transfer',
        args: [to.toLowerCase() as Hex, units],
      });
      const message = {
        ...{ to: USDC_ADDRESS, value: 0n, data, operation: 0, safeTxGas: 0n, baseGas: 0n, gasPrice: 0n },
        ...{ gasToken: ZERO_ADDRESS, refundReceiver: ZERO_ADDRESS, nonce: await nonceOf(chain, address) },
      };
      const signatures = await signAll((owner) =>
        owner.signer.signTypedData({ domain, types: { SafeTx: SAFE_TX }, primaryType: 'SafeTx', message }),
      );
      const call = encodeFunctionData({
        abi,
        functionName: 'execTransaction',
        args: [USDC_ADDRESS, 0n, data, 0, 0n, 0n, 0n, ZERO_ADDRESS, ZERO_ADDRESS, signatures],
      });
      const { status, transactionHash } = await send(chain, first, { to: address, data: call });
      if (status !== 'success') throw new Error('the Safe did not transfer');
      return transactionHash;
    },
    deploy: async () => {
      const { status } = await send(chain, first, { to: places.factory, data: deployment }, DEPLOY_GAS);
      if (status !== 'success') throw new Error('the Safe was not deployed');
    },
    wrap: (signature) => {
      const types = parseAbiParameters('address, bytes, bytes');
      return concatHex([encodeAbiParameters(types, [places.factory, deployment, signature]), `0x${'6492'.repeat(16)}`]);
    },
  };
}

interface Places {
  safe: Hex;
  factory: Hex;
  handler: Hex;
  proxyCode: Hex;
}

async function placesOf(chain: LocalChain): Promise<Places> {
  const safe = await singleton(chain, 'Safe');
  const factory = await singleton(chain, 'SafeProxyFactory');
  const handler = await singleton(chain, 'CompatibilityFallbackHandler');
  const data = encodeFunctionData({ abi, functionName: 'proxyCreationCode' });
  const answer = await chain.rpc.call('eth_call', [{ to: factory, data }, 'latest']);
  if (!isHex(answer)) throw new Error('the factory gave no code');
  const [proxyCode] = decodeAbiParameters(parseAbiParameters('bytes'), answer);
  return { safe, factory, handler, proxyCode };
}

function addressOf({ safe, factory, proxyCode }: Places, initializer: Hex, saltNonce: bigint): Hex {
  const salt = keccak256(encodePacked(['bytes32', 'uint256'], [keccak256(initializer), saltNonce]));
  const bytecode = concatHex([proxyCode, encodeAbiParameters(parseAbiParameters('address'), [safe])]);
  return getContractAddress({ opcode: 'CREATE2', from: factory, salt, bytecode }).toLowerCase() as Hex;
}

async function nonceOf(chain: LocalChain, address: Hex): Promise<bigint> {
  const data = encodeFunctionData({ abi, functionName: 'nonce' });
  return BigInt(String(await chain.rpc.call('eth_call', [{ to: address, data }, 'latest'])));
}

import { encodeFunctionData, parseAbi } from 'viem/utils';
import { type Hex, isHex } from '../hex.ts';
import { callContract, type StateBlock } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';

const abi = parseAbi([
  'function balanceOf(address owner) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function paused() view returns (bool)',
  'function isBlacklisted(address account) view returns (bool)',
  'function decimals() view returns (uint8)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
]);

export async function readBalance(rpc: Rpc, usdc: Hex, owner: Hex, block: StateBlock = 'latest'): Promise<bigint> {
  const data = encodeFunctionData({ abi, functionName: 'balanceOf', args: [owner] });
  return BigInt(await readWord(rpc, usdc, 'balanceOf', data, block));
}

/** True once the nonce is used or cancelled: which of the two, only the logs tell. */
export async function readAuthorizationState(
  rpc: Rpc,
  usdc: Hex,
  payer: Hex,
  nonce: Hex,
  block: StateBlock,
): Promise<boolean> {
  const data = encodeFunctionData({ abi, functionName: 'authorizationState', args: [payer, nonce] });
  return readFlag(rpc, usdc, 'authorizationState', data, block);
}

export async function readPaused(rpc: Rpc, usdc: Hex, block: StateBlock = 'latest'): Promise<boolean> {
  return readFlag(rpc, usdc, 'paused', encodeFunctionData({ abi, functionName: 'paused' }), block);
}

export async function readBlacklisted(
  rpc: Rpc,
  usdc: Hex,
  account: Hex,
  block: StateBlock = 'latest',
): Promise<boolean> {
  const data = encodeFunctionData({ abi, functionName: 'isBlacklisted', args: [account] });
  return readFlag(rpc, usdc, 'isBlacklisted', data, block);
}

export async function readDecimals(rpc: Rpc, usdc: Hex): Promise<number> {
  const data = encodeFunctionData({ abi, functionName: 'decimals' });
  const decimals = BigInt(await readWord(rpc, usdc, 'decimals', data, 'latest'));
  if (decimals > 255n) throw unexpected(rpc, 'decimals');
  return Number(decimals);
}

export async function readDomainSeparator(rpc: Rpc, usdc: Hex, block: StateBlock = 'latest'): Promise<Hex> {
  const data = encodeFunctionData({ abi, functionName: 'DOMAIN_SEPARATOR' });
  return readWord(rpc, usdc, 'DOMAIN_SEPARATOR', data, block);
}

async function readFlag(rpc: Rpc, usdc: Hex, what: string, data: Hex, block: StateBlock): Promise<boolean> {
  const word = BigInt(await readWord(rpc, usdc, what, data, block));
  if (word > 1n) throw unexpected(rpc, what);
  return word === 1n;
}

async function readWord(rpc: Rpc, usdc: Hex, what: string, data: Hex, block: StateBlock): Promise<Hex> {
  const answer = await callContract(rpc, { to: usdc, data }, block);
  // An address without code answers with nothing at all.
  if (!isHex(answer, 32)) throw unexpected(rpc, what);
  return answer;
}

function unexpected(rpc: Rpc, what: string): RpcFailure {
  return new RpcFailure('malformed', `eth_call at ${rpc.endpoint}: ${what} answers out of form`);
}

import { encodeFunctionData, parseAbi } from 'viem/utils';
import { type Hex, isHex } from '../hex.ts';
import { callContract, type Log, type StateBlock } from './reads.ts';
import { type Rpc, RpcFailure } from './rpc.ts';

/** keccak256 of the event signatures. A test computes them again. */
export const TRANSFER_TOPIC: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
export const AUTHORIZATION_USED_TOPIC: Hex = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5';
export const AUTHORIZATION_CANCELED_TOPIC: Hex = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81';

export interface Transfer {
  from: Hex;
  to: Hex;
  /** Amount in token units: 1 USDC is 1_000_000n. */
  value: bigint;
}

export interface AuthorizationEvent {
  authorizer: Hex;
  nonce: Hex;
}

type Emitted = Pick<Log, 'topics' | 'data'>;

/** Returns null unless the log has exactly the form of an ERC-20 Transfer. Any contract can emit such a log, so check its address first. */
export function decodeTransfer(log: Emitted): Transfer | null {
  const [topic, from, to] = log.topics;
  if (log.topics.length !== 3 || topic !== TRANSFER_TOPIC || !isHex(log.data, 32)) return null;
  const addresses = { from: paddedAddress(from), to: paddedAddress(to) };
  if (addresses.from === null || addresses.to === null) return null;
  return { from: addresses.from, to: addresses.to, value: BigInt(log.data) };
}

export function decodeAuthorizationUsed(log: Emitted): AuthorizationEvent | null {
  return decodeAuthorization(log, AUTHORIZATION_USED_TOPIC);
}

export function decodeAuthorizationCanceled(log: Emitted): AuthorizationEvent | null {
  return decodeAuthorization(log, AUTHORIZATION_CANCELED_TOPIC);
}

export function addressTopic(address: Hex): Hex {
  return `0x${address.slice(2).padStart(64, '0')}`;
}

function decodeAuthorization(log: Emitted, expected: Hex): AuthorizationEvent | null {
  const [topic, payer, nonce] = log.topics;
  if (log.topics.length !== 3 || topic !== expected || log.data !== '0x') return null;
  const authorizer = paddedAddress(payer);
  return authorizer === null || !isHex(nonce, 32) ? null : { authorizer, nonce };
}

function paddedAddress(topic: Hex | undefined): Hex | null {
  if (!isHex(topic, 32) || !topic.startsWith(`0x${'0'.repeat(24)}`)) return null;
  return `0x${topic.slice(26)}`;
}

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
  return BigInt(await readWord(rpc, usdc, { name: 'balanceOf', data, block }));
}

/** True once the authorization is used or canceled. Only the logs show which of the two. */
export async function readAuthorizationState(
  rpc: Rpc,
  usdc: Hex,
  { authorizer, nonce }: AuthorizationEvent,
  block: StateBlock,
): Promise<boolean> {
  const data = encodeFunctionData({ abi, functionName: 'authorizationState', args: [authorizer, nonce] });
  return readFlag(rpc, usdc, { name: 'authorizationState', data, block });
}

export async function readPaused(rpc: Rpc, usdc: Hex, block: StateBlock = 'latest'): Promise<boolean> {
  return readFlag(rpc, usdc, { name: 'paused', data: encodeFunctionData({ abi, functionName: 'paused' }), block });
}

export async function readBlacklisted(
  rpc: Rpc,
  usdc: Hex,
  account: Hex,
  block: StateBlock = 'latest',
): Promise<boolean> {
  const data = encodeFunctionData({ abi, functionName: 'isBlacklisted', args: [account] });
  return readFlag(rpc, usdc, { name: 'isBlacklisted', data, block });
}

export async function readDecimals(rpc: Rpc, usdc: Hex): Promise<number> {
  const data = encodeFunctionData({ abi, functionName: 'decimals' });
  const decimals = BigInt(await readWord(rpc, usdc, { name: 'decimals', data, block: 'latest' }));
  if (decimals > 255n) throw unexpectedAnswer(rpc, 'decimals');
  return Number(decimals);
}

export async function readDomainSeparator(rpc: Rpc, usdc: Hex, block: StateBlock = 'latest'): Promise<Hex> {
  const data = encodeFunctionData({ abi, functionName: 'DOMAIN_SEPARATOR' });
  return readWord(rpc, usdc, { name: 'DOMAIN_SEPARATOR', data, block });
}

interface TokenCall {
  name: string;
  data: Hex;
  block: StateBlock;
}

async function readFlag(rpc: Rpc, usdc: Hex, call: TokenCall): Promise<boolean> {
  const word = BigInt(await readWord(rpc, usdc, call));
  if (word > 1n) throw unexpectedAnswer(rpc, call.name);
  return word === 1n;
}

async function readWord(rpc: Rpc, usdc: Hex, { name, data, block }: TokenCall): Promise<Hex> {
  const answer = await callContract(rpc, { to: usdc, data }, block);
  // A call to an address without code returns empty data.
  if (!isHex(answer, 32)) throw unexpectedAnswer(rpc, name);
  return answer;
}

function unexpectedAnswer(rpc: Rpc, name: string): RpcFailure {
  return new RpcFailure('malformed', `eth_call at ${rpc.endpoint}: ${name} answers out of form`);
}

import { type Hex, isHex } from '../hex.ts';
import type { Log } from './reads.ts';

/** keccak256 of the event signatures; a test derives them again. */
export const TRANSFER_TOPIC: Hex = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
export const AUTHORIZATION_USED_TOPIC: Hex = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5';
export const AUTHORIZATION_CANCELED_TOPIC: Hex = '0x1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81';

export interface Transfer {
  from: Hex;
  to: Hex;
  /** In units: 1 USDC is 1_000_000n. */
  value: bigint;
}

export interface AuthorizationEvent {
  authorizer: Hex;
  nonce: Hex;
}

type Emitted = Pick<Log, 'topics' | 'data'>;

/** Null unless the log has exactly the form of an ERC-20 Transfer. Says nothing on who emitted it: compare the address first. */
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

/** An address as a topic of a log filter. */
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

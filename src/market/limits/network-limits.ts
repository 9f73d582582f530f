import { isIPv4, isIPv6, SocketAddress } from 'node:net';
import type { DEFAULT_LIMITS } from '../../contract/vocabulary.ts';
import { clientNetwork } from '../../platform/http/client-network.ts';
import type { NetworkRule } from '../context.ts';

/** Limits per client network and hour or minute. The operator may set them for single networks. */
export const NETWORK_LIMITS = [
  'registration_per_ip_hour',
  'confirm_per_ip_hour',
  'rotation_starts_per_ip_hour',
  'recovery_starts_per_ip_hour',
  'pair_tries_per_ip_hour',
  'oauth_clients_per_ip_hour',
  'oauth_starts_per_ip_hour',
  'intents_per_ip_hour',
  'attempts_per_ip_hour',
  'chain_reads_per_ip_minute',
  'read_ms_per_ip_minute',
  'store_megabytes_per_ip_hour',
] as const satisfies readonly (keyof typeof DEFAULT_LIMITS)[];
export type NetworkLimit = (typeof NETWORK_LIMITS)[number];

type Bits = NetworkRule['bits'];

const CIDR = /^([0-9a-f.:]+)\/(0|[1-9]\d?)$/i;
const CLIENT_IPV6 = /^((?:[0-9a-f]{1,4}:){3}[0-9a-f]{1,4})::\/64$/;

/** Reads `203.0.113.0/24` or `2001:db8::/48`. Null: no network, bits beyond its length, or smaller than the networks counted. */
export function readNetwork(text: string): Pick<NetworkRule, 'bits' | 'length'> | null {
  const [, address = '', digits = ''] = CIDR.exec(text) ?? [];
  if (!isIPv4(address) && !isIPv6(address)) return null;
  const counted = clientNetwork(address);
  const bits = bitsOf(counted);
  const length = Number(digits);
  // A mapped IPv4 address is counted as IPv4, so this rule would never match.
  if (bits === null || (isIPv6(address) && bits.width === 32) || length > bits.width) return null;
  const isRest = (bits.value & ((1n << BigInt(bits.width - length)) - 1n)) !== 0n;
  return isRest || (bits.width === 64 && !endsInZeros(address, counted)) ? null : { bits, length };
}

/** Returns the limit for that client network: from the most specific rule that sets it, else the general one. */
export function limitFor(
  rules: readonly NetworkRule[],
  name: NetworkLimit,
  network: string,
  limits: Readonly<Record<NetworkLimit, number>>,
): number {
  if (rules.length === 0) return limits[name];
  const bits = bitsOf(network);
  const matching = rules
    .filter((rule) => rule.limits[name] !== undefined && bits !== null && isIn(bits, rule))
    .sort((a, b) => b.length - a.length);
  return matching[0]?.limits[name] ?? limits[name];
}

function isIn(bits: Bits, rule: NetworkRule): boolean {
  const rest = BigInt(rule.bits.width - rule.length);
  return bits.width === rule.bits.width && bits.value >> rest === rule.bits.value >> rest;
}

/** Takes a client network in the form it is counted by. */
function bitsOf(network: string): Bits | null {
  if (isIPv4(network)) return { value: joinParts(network.split('.').map(BigInt), 8n), width: 32 };
  const groups = CLIENT_IPV6.exec(network)?.[1]?.split(':');
  if (groups === undefined) return null;
  const values = groups.map((group) => BigInt(Number.parseInt(group, 16)));
  return { value: joinParts(values, 16n), width: 64 };
}

function joinParts(parts: readonly bigint[], width: bigint): bigint {
  return parts.reduce((sum, part) => (sum << width) | part, 0n);
}

function endsInZeros(address: string, counted: string): boolean {
  const spelled = (text: string) => new SocketAddress({ address: text, family: 'ipv6' }).address;
  return spelled(address) === spelled(counted.replace(/\/64$/, ''));
}

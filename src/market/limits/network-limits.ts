import ipaddr from 'ipaddr.js';
import type { DEFAULT_LIMITS } from '../../contract/vocabulary.ts';
import { type Address, isInSubnet, parseSubnet, type Subnet } from '../../platform/http/client-network.ts';
import type { NetworkRule } from '../context.ts';

/** Limits for each client network per day, hour or minute. The operator may set them for single networks. */
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
  'upload_megabytes_per_ip_hour',
  'free_download_megabytes_per_ip_day',
] as const satisfies readonly (keyof typeof DEFAULT_LIMITS)[];
export type NetworkLimit = (typeof NETWORK_LIMITS)[number];

const IPV6_BITS = 64;

/** Parses `203.0.113.0/24` or `2001:db8::/48`. Null if it is no subnet, has host bits set, or has an IPv6 prefix longer than /64. */
export function readNetwork(text: string): Subnet | null {
  const network = text.includes('/') && !text.includes('%') ? parseSubnet(text) : null;
  if (network === null) return null;
  const [address, length] = network;
  const isIPv4 = address.kind() === 'ipv4';
  const first = (isIPv4 ? ipaddr.IPv4 : ipaddr.IPv6).networkAddressFromCIDR(text);
  return String(first) === String(address) && (isIPv4 || length <= IPV6_BITS) ? network : null;
}

/** Returns the limit of a client network: from the most specific rule that sets it, else the general limit. */
export function limitFor(
  rules: readonly NetworkRule[],
  name: NetworkLimit,
  network: string,
  limits: Readonly<Record<NetworkLimit, number>>,
): number {
  if (rules.length === 0) return limits[name];
  const address = parseClientNetwork(network);
  const [closest] = rules
    .filter((rule) => rule.limits[name] !== undefined && address !== null && isInSubnet(address, rule.network))
    .sort((a, b) => b.network[1] - a.network[1]);
  return closest?.limits[name] ?? limits[name];
}

/** Parses the address of a client network. Null if the client's address is not known. */
function parseClientNetwork(network: string): Address | null {
  const text = network.replace(/\/64$/, '');
  return ipaddr.isValid(text) ? ipaddr.parse(text) : null;
}

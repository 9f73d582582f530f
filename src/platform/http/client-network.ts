import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** Null: no address. A mapped IPv4 address is that IPv4 address, and a zone is left out. */
export function readAddress(text: string | undefined): Address | null {
  const plain = (text ?? '').replace(/%.*$/, '');
  // The library alone would take 127.1 and 0x7f000001 as well.
  return isIP(plain) === 0 ? null : ipaddr.process(plain);
}

/** The network that limits count: an IPv4 address, or the /64 of an IPv6 one. A mapped IPv4 address is that IPv4 address. */
export function clientNetwork(text: string | undefined): string {
  const address = readAddress(text);
  return address === null ? 'unknown' : networkOf(address);
}

export function networkOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  const groups = address.parts.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}

/** The wider networks around a counted one that budgets count as well: IPv4 /24 and /16, IPv6 /48 and /32. */
export interface NetworkLevels {
  site: string;
  region: string;
}

const LOOPBACK_V6 = '0:0:0:0::/64';

/** Takes what `clientNetwork` gives. On loopback, and where nothing is known, the network stands for itself at every level. */
export function networkLevels(counted: string): NetworkLevels {
  const [a, b, c] = counted.split(/[.:]/);
  const isLocal = counted === LOOPBACK_V6 || counted.startsWith('127.');
  if (isIPv4(counted) && !isLocal) return { site: `${a}.${b}.${c}.0/24`, region: `${a}.${b}.0.0/16` };
  if (counted.endsWith('::/64') && !isLocal) return { site: `${a}:${b}:${c}::/48`, region: `${a}:${b}::/32` };
  return { site: counted, region: counted };
}

/** All of IPv6 that is given out to the public. */
const GIVEN_OUT = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whether a server that others told us to ask may be at that address: not this machine, not its neighbours. */
export function isPublicAddress(text: string): boolean {
  // With a zone it is a neighbour's.
  if (isIP(text) === 0 || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv6 && !address.match(GIVEN_OUT)) return false;
  // IPv4 in another dress (mapped, NAT64, 6to4) is of a range of its own.
  return address.range() === 'unicast';
}

import type { IncomingMessage } from 'node:http';
import { isIP, isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';

const NAMED_RANGES: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

export interface ClientNames {
  /** Whether that peer is trusted to name its client. */
  isProxy(address: string | undefined): boolean;
  /** Returns the client's counted network: the peer's own, or the nearest one that trusted proxies report. */
  of(request: AddressedRequest): string;
  /** Like `of`, for a peer that is known to be a trusted proxy. */
  ofForwarded(request: AddressedRequest): string;
}

type AddressedRequest = Pick<IncomingMessage, 'headers' | 'socket'>;

/** The only code that reads addresses from the X-Forwarded-For of a peer. */
export function createClientNames(trusted: false | readonly string[]): ClientNames {
  const networks = (trusted || []).flatMap((name) => NAMED_RANGES[name] ?? [name]);
  const proxies = networks.map(parseSubnet).filter((network) => network !== null);
  const matches = (address: Address): boolean => proxies.some((network) => isInSubnet(address, network));
  const isProxy = (text: string | undefined): boolean => {
    const address = proxies.length === 0 ? null : readAddress(text);
    return address !== null && matches(address);
  };
  const ofForwarded = ({ headers, socket }: AddressedRequest): string => {
    const hops = String(headers['x-forwarded-for'] ?? '').split(',');
    // Start at the nearest hop. The first hop that is not our proxy is the client; anybody may have written the hops before it.
    for (let at = hops.length - 1; at >= 0; at -= 1) {
      const address = readAddress(hops[at]?.trim());
      // A proxy may forward any text as an address.
      if (address === null) break;
      if (at === 0 || !matches(address)) return networkOf(address);
    }
    return clientNetwork(socket.remoteAddress);
  };
  return {
    isProxy,
    ofForwarded,
    of: (request) => {
      const peer = request.socket.remoteAddress;
      return isProxy(peer) ? ofForwarded(request) : clientNetwork(peer);
    },
  };
}

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** An address of the network, and the number of leading bits that count. */
export type Subnet = readonly [Address, number];

const CIDR = /^([^/]+)\/(0|[1-9]\d*)$/;

/** Parses an address, or a network as in 203.0.113.0/24 or 2001:db8::/48. Null for any other text. */
export function parseSubnet(text: string): Subnet | null {
  const [, address = text, length = isIPv4(text) ? '32' : '128'] = CIDR.exec(text) ?? [];
  // The library would also accept 10.1/8 and 0x0a000000/8.
  if (isIP(address) === 0) return null;
  const cidr = `${address}/${length}`;
  return ipaddr.isValidCIDR(cidr) ? ipaddr.parseCIDR(cidr) : null;
}

export function isInSubnet(address: Address, [network, bits]: Subnet): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}

/** Returns null if the text is no address. Converts mapped IPv4 addresses to IPv4 and drops a zone. */
function readAddress(text: string | undefined): Address | null {
  const plain = (text ?? '').replace(/%.*$/, '');
  // The library would also accept 127.1 and 0x7f000001.
  return isIP(plain) === 0 ? null : ipaddr.process(plain);
}

/** Returns the network that limits count: an IPv4 address, or the /64 of an IPv6 address. A mapped IPv4 address counts as IPv4. */
export function clientNetwork(text: string | undefined): string {
  const address = readAddress(text);
  return address === null ? 'unknown' : networkOf(address);
}

function networkOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  const groups = address.parts.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}

/** Wider networks that budgets also count: site (IPv4 /24, IPv6 /48) and supernet (IPv4 /16, IPv6 /32). */
export interface NetworkLevels {
  site: string;
  supernet: string;
}

const LOOPBACK_V6 = '0:0:0:0::/64';

/** Takes a result of `clientNetwork`. A loopback or unknown address is its own site and supernet. */
export function networkLevels(counted: string): NetworkLevels {
  const [a, b, c] = counted.split(/[.:]/);
  const isLocal = counted === LOOPBACK_V6 || counted.startsWith('127.');
  if (isIPv4(counted) && !isLocal) return { site: `${a}.${b}.${c}.0/24`, supernet: `${a}.${b}.0.0/16` };
  if (counted.endsWith('::/64') && !isLocal) return { site: `${a}:${b}:${c}::/48`, supernet: `${a}:${b}::/32` };
  return { site: counted, supernet: counted };
}

/** All public IPv6 addresses. */
const ALLOCATED_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Returns true if documents of strangers may be fetched from this address. False for this machine and its neighbours. */
export function isPublicAddress(text: string): boolean {
  // An address with a zone belongs to a neighbour.
  if (isIP(text) === 0 || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv6 && !address.match(ALLOCATED_IPV6)) return false;
  // Addresses with embedded IPv4 (mapped, NAT64, 6to4) have ranges of their own.
  return address.range() === 'unicast';
}

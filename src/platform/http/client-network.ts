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
  /** The client's counted network: the peer's, or the nearest one that trusted proxies name. */
  of(request: AddressedRequest): string;
  /** The same for a peer known to be a trusted proxy. */
  ofForwarded(request: AddressedRequest): string;
}

type AddressedRequest = Pick<IncomingMessage, 'headers' | 'socket'>;

/** The only code that reads X-Forwarded-For. */
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
    // Starts at the nearest hop. The first that is not our proxy is the client; anybody may have written the hops before it.
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

/** An address of the network, and how many of its leading bits count. */
export type Subnet = readonly [Address, number];

const CIDR = /^([^/]+)\/(0|[1-9]\d*)$/;

/** Reads an address, or a network as in 203.0.113.0/24 or 2001:db8::/48; null for any other text. */
export function parseSubnet(text: string): Subnet | null {
  const [, address = text, length = isIPv4(text) ? '32' : '128'] = CIDR.exec(text) ?? [];
  // The library alone would also accept 10.1/8 and 0x0a000000/8.
  if (isIP(address) === 0) return null;
  const cidr = `${address}/${length}`;
  return ipaddr.isValidCIDR(cidr) ? ipaddr.parseCIDR(cidr) : null;
}

export function isInSubnet(address: Address, [network, bits]: Subnet): boolean {
  return network.kind() === address.kind() && address.match(network, bits);
}

/** Null: not an address. Turns a mapped IPv4 address into IPv4 and drops a zone. */
function readAddress(text: string | undefined): Address | null {
  const plain = (text ?? '').replace(/%.*$/, '');
  // The library alone would also accept 127.1 and 0x7f000001.
  return isIP(plain) === 0 ? null : ipaddr.process(plain);
}

/** The network that limits count: an IPv4 address, or the /64 of an IPv6 address. A mapped IPv4 address counts as IPv4. */
export function clientNetwork(text: string | undefined): string {
  const address = readAddress(text);
  return address === null ? 'unknown' : networkOf(address);
}

function networkOf(address: Address): string {
  if (address instanceof ipaddr.IPv4) return address.toString();
  const groups = address.parts.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}

/** The wider networks that budgets also count: site (IPv4 /24, IPv6 /48) and supernet (IPv4 /16, IPv6 /32). */
export interface NetworkLevels {
  site: string;
  supernet: string;
}

const LOOPBACK_V6 = '0:0:0:0::/64';

/** Takes a result of `clientNetwork`. On loopback, and for an unknown address, each network is its own site and supernet. */
export function networkLevels(counted: string): NetworkLevels {
  const [a, b, c] = counted.split(/[.:]/);
  const isLocal = counted === LOOPBACK_V6 || counted.startsWith('127.');
  if (isIPv4(counted) && !isLocal) return { site: `${a}.${b}.${c}.0/24`, supernet: `${a}.${b}.0.0/16` };
  if (counted.endsWith('::/64') && !isLocal) return { site: `${a}:${b}:${c}::/48`, supernet: `${a}:${b}::/32` };
  return { site: counted, supernet: counted };
}

/** All IPv6 addresses assigned to the public. */
const GIVEN_OUT = ipaddr.IPv6.parseCIDR('2000::/3');

/** Whether this address may be asked for documents of strangers: not this machine, not its neighbours. */
export function isPublicAddress(text: string): boolean {
  // An address with a zone is a neighbour's.
  if (isIP(text) === 0 || text.includes('%')) return false;
  const address = ipaddr.parse(text);
  if (address instanceof ipaddr.IPv6 && !address.match(GIVEN_OUT)) return false;
  // Embedded IPv4 (mapped, NAT64, 6to4) has a range of its own.
  return address.range() === 'unicast';
}

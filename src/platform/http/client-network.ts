import { isIP, isIPv4, isIPv6 } from 'node:net';

const GROUPS = 8;

/** The network that limits count: an IPv4 address, or the /64 of an IPv6 one. A mapped IPv4 address is that IPv4 address. */
export function clientNetwork(address: string | undefined): string {
  const plain = (address ?? '').replace(/%.*$/, '');
  if (isIP(plain) === 0) return 'unknown';
  if (isIPv4(plain)) return plain;
  const groups = expand(plain);
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    const [high = 0, low = 0] = groups.slice(6);
    return [high >> 8, high & 255, low >> 8, low & 255].join('.');
  }
  const prefix = groups.slice(0, 4).map((group) => group.toString(16));
  return `${prefix.join(':')}::/64`;
}

/** The wider networks around a counted one that budgets count as well: IPv4 /24 and /16, IPv6 /48 and /32. */
export interface NetworkLevels {
  site: string;
  region: string;
}

const LOOPBACK_V6 = '0:0:0:0::/64';

/** Takes what `clientNetwork` gives. On loopback, and where nothing is known, the network stands for itself at every level. */
export function networkLevels(counted: string): NetworkLevels {
  if (counted === LOOPBACK_V6 || counted.startsWith('127.')) return { site: counted, region: counted };
  if (isIPv4(counted)) {
    const [a, b, c] = counted.split('.');
    return { site: `${a}.${b}.${c}.0/24`, region: `${a}.${b}.0.0/16` };
  }
  if (!counted.endsWith('::/64')) return { site: counted, region: counted };
  const groups = counted.slice(0, -'::/64'.length).split(':');
  return { site: `${groups.slice(0, 3).join(':')}::/48`, region: `${groups.slice(0, 2).join(':')}::/32` };
}

/** The first of these that is an address at all: a proxy may forward any text as one. */
export function firstAddress(...addresses: (string | undefined)[]): string | undefined {
  return addresses.find((address) => address !== undefined && isIP(address.replace(/%.*$/, '')) !== 0);
}

function expand(address: string): number[] {
  if (!isIPv6(address)) throw new TypeError('not an IPv6 address');
  const [left = '', right] = address.split('::');
  const head = read(left);
  if (right === undefined) return head;
  const tail = read(right);
  return [...head, ...Array<number>(GROUPS - head.length - tail.length).fill(0), ...tail];
}

function read(half: string): number[] {
  if (half === '') return [];
  return half.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

import type { IncomingMessage } from 'node:http';
import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { clientNetwork, firstAddress } from '../client-network.ts';

const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

export interface ClientNames {
  /** Whether that peer may say for whom it asks. */
  isProxy(address: string | undefined): boolean;
  /** The counted network of who asks: the peer's, or the nearest that trusted proxies name. */
  of(request: Pick<IncomingMessage, 'headers' | 'socket'>): string;
}

/** The one place that reads X-Forwarded-For. */
export function createClientNames(trusted: false | readonly string[]): ClientNames {
  const list = trusted === false ? null : listOf(trusted);
  const isProxy = (address: string | undefined): boolean => {
    if (list === null || address === undefined) return false;
    const plain = address.replace(/%.*$/, '');
    if (isIPv4(plain)) return list.check(plain, 'ipv4');
    return isIPv6(plain) && list.check(plain, 'ipv6');
  };
  return {
    isProxy,
    of: ({ headers, socket }) => {
      const peer = socket.remoteAddress;
      const forwarded = headers['x-forwarded-for'];
      if (forwarded === undefined || !isProxy(peer)) return clientNetwork(peer);
      // Nearest last; the first that is no proxy of ours is the client. What stands before it anybody may have written.
      const hops = String(forwarded).split(',');
      let at = hops.length - 1;
      while (at > 0 && isProxy(hops[at]?.trim())) at -= 1;
      return clientNetwork(firstAddress(hops[at]?.trim(), peer));
    },
  };
}

function listOf(trusted: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of trusted.flatMap((name) => NAMED[name] ?? [name])) {
    const [address = '', bits] = network.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    list.addSubnet(address, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
  }
  return list;
}

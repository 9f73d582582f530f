import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { type Address, clientNetwork, networkOf, readAddress } from '../client-network.ts';

const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

export interface ClientNames {
  /** Whether that peer may say for whom it asks. */
  isProxy(address: string | undefined): boolean;
  /** The counted network of who asks: the peer's, or the nearest that trusted proxies name. */
  of(request: Asked): string;
  /** The same where the peer is known to be a trusted proxy. */
  ofForwarded(request: Asked): string;
}

type Asked = Pick<IncomingMessage, 'headers' | 'socket'>;

/** The one place that reads X-Forwarded-For. */
export function createClientNames(trusted: false | readonly string[]): ClientNames {
  const networks = (trusted || []).flatMap((name) => NAMED[name] ?? [name]);
  const proxies = networks.map((network) =>
    ipaddr.parseCIDR(network.includes('/') ? network : `${network}/${isIPv4(network) ? 32 : 128}`),
  );
  const matches = (address: Address): boolean =>
    proxies.some(([network, bits]) => network.kind() === address.kind() && address.match(network, bits));
  const isProxy = (text: string | undefined): boolean => {
    const address = proxies.length === 0 ? null : readAddress(text);
    return address !== null && matches(address);
  };
  const ofForwarded = ({ headers, socket }: Asked): string => {
    const hops = String(headers['x-forwarded-for'] ?? '').split(',');
    // Nearest last; the first that is no proxy of ours is the client. What stands before it anybody may have written.
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

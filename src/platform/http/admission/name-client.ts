import type { IncomingMessage } from 'node:http';
import { isIPv4 } from 'node:net';
import ipaddr from 'ipaddr.js';
import { clientNetwork, readAddress } from '../client-network.ts';

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
  const networks = (trusted || []).flatMap((name) => NAMED[name] ?? [name]);
  const proxy = networks.map((network) =>
    ipaddr.parseCIDR(network.includes('/') ? network : `${network}/${isIPv4(network) ? 32 : 128}`),
  );
  const isProxy = (text: string | undefined): boolean => {
    const address = proxy.length === 0 ? null : readAddress(text);
    return address !== null && ipaddr.subnetMatch(address, { proxy }, 'none') === 'proxy';
  };
  return {
    isProxy,
    of: ({ headers, socket }) => {
      const peer = socket.remoteAddress;
      const forwarded = headers['x-forwarded-for'];
      if (forwarded === undefined || !isProxy(peer)) return clientNetwork(peer);
      // Nearest last; the first that is no proxy of ours is the client. What stands before it anybody may have written.
      const hops = String(forwarded)
        .split(',')
        .map((hop) => hop.trim());
      const client = hops.findLast((hop) => !isProxy(hop)) ?? hops[0];
      // A proxy may forward any text as an address.
      return clientNetwork(readAddress(client) === null ? peer : client);
    },
  };
}

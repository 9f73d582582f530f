import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, isIPv4 } from 'node:net';
import { clientNetwork, firstAddress } from './client-network.ts';

/** Whether that address is a proxy that may name the client's. */
export type TrustedProxies = (address: string) => boolean;

const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};
const WIDTH = { ipv4: 32, ipv6: 128 };

/** Reads what the framework takes for its `trustProxy`: addresses, networks and the named ranges. */
export function readTrustedProxies(trustProxy: false | readonly string[]): TrustedProxies {
  if (trustProxy === false) return () => false;
  const list = new BlockList();
  for (const text of trustProxy.flatMap((one) => NAMED[one] ?? [one])) {
    const [address = '', bits] = text.split('/');
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    list.addSubnet(address, bits === undefined ? WIDTH[family] : Number(bits), family);
  }
  return (address) => isIP(address) !== 0 && list.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
}

/** The client network of a request that the framework has not seen: by the same rule, from the nearest proxy outwards. */
export function networkOfRequest({ socket, headers }: IncomingMessage, proxies: TrustedProxies): string {
  let address = socket.remoteAddress;
  const forwarded = headers['x-forwarded-for'];
  if (typeof forwarded === 'string') {
    const named = forwarded.split(',').map((one) => one.trim());
    while (address !== undefined && proxies(address) && named.length > 0) address = named.pop();
  }
  return clientNetwork(firstAddress(address, socket.remoteAddress));
}

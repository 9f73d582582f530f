import { BlockList, isIPv4, isIPv6 } from 'node:net';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether only this machine can reach the host. */
export function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[|\]$/g, '');
  if (plain === 'localhost' || plain.endsWith('.localhost')) return true;
  if (isIPv4(plain)) return LOOPBACK.check(plain, 'ipv4');
  return isIPv6(plain) && LOOPBACK.check(plain, 'ipv6');
}

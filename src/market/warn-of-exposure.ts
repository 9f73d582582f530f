import { BlockList, isIPv4, isIPv6 } from 'node:net';
import type { Log } from '../platform/log.ts';
import type { MarketConfig } from './context.ts';

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet('127.0.0.0', 8, 'ipv4');
LOOPBACK.addAddress('::1', 'ipv6');

/** Whether only this machine reaches that host. */
export function isLoopback(host: string): boolean {
  const plain = host.replace(/^\[|\]$/g, '');
  if (plain === 'localhost' || plain.endsWith('.localhost')) return true;
  if (isIPv4(plain)) return LOOPBACK.check(plain, 'ipv4');
  return isIPv6(plain) && LOOPBACK.check(plain, 'ipv6');
}

/** What an operator should hear at the start, and not when the first strangers are there. */
export function warnOfExposure(
  { baseUrl, trustProxy, host, metricsPort }: Pick<MarketConfig, 'baseUrl' | 'trustProxy' | 'host' | 'metricsPort'>,
  log: Log,
): void {
  if (trustProxy === false && !isLoopback(new URL(baseUrl).hostname)) {
    log.warn('public_without_trusted_proxy', {
      detail:
        'OPENAISLE_BASE_URL is public and OPENAISLE_TRUST_PROXY is off: behind a proxy all clients would count as one. Name the proxy.',
    });
  }
  if (metricsPort !== 0 && !isLoopback(host)) {
    log.warn('metrics_reachable', {
      detail:
        'OPENAISLE_HOST is no loopback address, and the metrics port listens there too, open to everybody who reaches it. Close it to strangers.',
    });
  }
}

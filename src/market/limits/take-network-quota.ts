import { takeClientQuota } from '../../platform/database/quota.ts';
import type { Market } from '../context.ts';
import { limitFor, type NetworkLimit } from './network-limits.ts';

const HOUR_SECONDS = 3_600;

/** Counts this call of that client network and its site, and refuses it beyond the limit, which may be the network's own. */
export async function takeNetworkQuota(
  market: Pick<Market, 'config' | 'database' | 'clock'>,
  name: NetworkLimit,
  clientNetwork: string,
): Promise<void> {
  const { limits, networkLimits } = market.config;
  const limit = limitFor(networkLimits, name, clientNetwork, limits);
  const networksPerSite = limits.networks_per_site;
  await takeClientQuota(market, { name, clientNetwork, limit, networksPerSite, windowSeconds: HOUR_SECONDS });
}
